package command

import (
	"github.com/hapaxkv/hapax/internal/shard"
)

const (
	// embeddedMaxBytes is the longest string that Redis keeps in one piece
	// with its object, and calls embstr.
	embeddedMaxBytes = 44
	// sharedIntegers are kept once by Redis: 0..9999, with a reference count
	// that never changes.
	sharedIntegers = 10000
	sharedRefCount = 1<<31 - 1
)

// integerOf is the value as Redis would keep it as an integer: the decimal
// digits of an int64 and nothing else, not built by APPEND or SETRANGE.
func integerOf(v *shard.Value) (int64, bool) {
	if v.Type != shard.String || v.Raw {
		return 0, false
	}
	return ParseInt(v.Bytes)
}

// encodingName is how Redis would keep the value. Hapax keeps every string
// one way; clients and tests ask.
func encodingName(v *shard.Value) string {
	if _, ok := integerOf(v); ok {
		return "int"
	}
	if v.Raw || len(v.Bytes) > embeddedMaxBytes {
		return "raw"
	}
	return "embstr"
}

func objectEncoding(c *Ctx) error {
	v, ok := peekCounted(c, &c.Keys[0])
	if !ok {
		c.Out.Null()
		return nil
	}
	c.Out.BulkString(encodingName(&v))
	return nil
}

func objectRefCount(c *Ctx) error {
	v, ok := peekCounted(c, &c.Keys[0])
	if !ok {
		c.Out.Null()
		return nil
	}
	refs := int64(1)
	if n, isInt := integerOf(&v); isInt && n >= 0 && n < sharedIntegers {
		refs = sharedRefCount
	}
	c.Out.Int(refs)
	return nil
}

var (
	errNoFreq error = Error("ERR An LFU maxmemory policy is not selected, access frequency not tracked." +
		" Please note that when switching between policies at runtime LRU and LFU data will take some time to adjust.")
	errNoIdle error = Error("ERR An LFU maxmemory policy is selected, idle time not tracked." +
		" Please note that when switching between policies at runtime LRU and LFU data will take some time to adjust.")
)

func objectFreq(c *Ctx) error {
	a, ok := access(c)
	switch {
	case !ok:
		c.Out.Null()
	case !a.LFU:
		return errNoFreq
	default:
		c.Out.Int(int64(a.Freq))
	}
	return nil
}

func objectIdleTime(c *Ctx) error {
	a, ok := access(c)
	switch {
	case !ok:
		c.Out.Null()
	case a.LFU:
		return errNoIdle
	default:
		c.Out.Int(a.IdleSec)
	}
	return nil
}

// access describes the key without making it recently used.
func access(c *Ctx) (shard.Access, bool) {
	if _, ok := peekCounted(c, &c.Keys[0]); !ok {
		return shard.Access{}, false
	}
	return c.Tx.Access(&c.Keys[0])
}

func objectHelp(c *Ctx) error {
	return Help(c,
		"ENCODING <key>",
		"    Return how Redis would keep the value of <key>: int, embstr or raw.",
		"FREQ <key>",
		"    Return the access counter of <key>, which grows with the logarithm of",
		"    its recent accesses. Needs an LFU maxmemory-policy.",
		"IDLETIME <key>",
		"    Return the seconds since <key> was last accessed, about.",
		"REFCOUNT <key>",
		"    Return the references Redis would have to the value of <key>.",
	)
}
