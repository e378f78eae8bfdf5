package command

import (
	"math"
	"slices"

	"github.com/hapaxkv/hapax/internal/shard"
)

func get(c *Ctx) error {
	_, err := c.replyString(&c.Keys[0])
	return err
}

// replyString answers the string of k or null, and says whether there is one.
func (c *Ctx) replyString(k *shard.Key) (found bool, err error) {
	var v shard.Value
	found, err = c.readString(k, &v)
	switch {
	case err != nil:
		return false, err
	case !found:
		c.Out.Null()
		return false, nil
	}
	c.replyBulk(k, v.Bytes)
	return true, nil
}

// lentBytes is how long a string must be to be lent to its reply. A GET of 16
// KiB took 12 µs of processor copied and 16 lent, which needs a system call of
// its own; at 32 KiB the two are even; of 64 KiB, which takes a fresh buffer to
// copy to, 120 and 26.
const lentBytes = 32 << 10

// replyBulk answers b, a part of the value of k that was just read. When it is
// large it goes to the socket from where it lies (I4).
func (c *Ctx) replyBulk(k *shard.Key, b []byte) {
	if len(b) >= lentBytes {
		if lender, token := c.Tx.Lend(k); lender != nil {
			c.Out.Lend(b, lender, token)
			return
		}
	}
	c.Out.Bulk(b)
}

// The values of one MGET are bounded like a single value: a request can name
// one long value any number of times, and without a bound, few bytes sent
// would reserve any number of bytes here (I12).
var errReplyTooLong error = Error("ERR the values together exceed the maximum string size (proto-max-bulk-len)")

// mGetUnsizedBytes is how much MGET writes before it looks how much is still
// to come: usual replies fit and are looked up once, large ones neither grow
// step by step nor are begun when they are too long.
const mGetUnsizedBytes = 256 << 10

func mGet(c *Ctx) error {
	leftBytes := c.maxBulk()
	sizedBelow := leftBytes - mGetUnsizedBytes
	c.Out.Array(len(c.Keys))
	var v shard.Value
	for i := range c.Keys {
		if !c.Tx.Read(c.key(i), &v) || v.Type != shard.String {
			c.Out.Null()
			continue
		}
		if leftBytes-int64(len(v.Bytes)) < sizedBelow {
			sizedBelow = math.MinInt64
			if !c.mGetRoom(c.Keys[i:], leftBytes) {
				return errReplyTooLong
			}
		}
		leftBytes -= int64(len(v.Bytes))
		c.replyBulk(&c.Keys[i], v.Bytes)
	}
	return nil
}

// mGetRoom makes room for the values of keys in one step, unless they are
// longer than leftBytes.
func (c *Ctx) mGetRoom(keys []shard.Key, leftBytes int64) bool {
	size, copied := int64(0), 0
	for i := range keys {
		v, found := c.Tx.Peek(&keys[i])
		if !found || v.Type != shard.String {
			continue
		}
		if size += int64(len(v.Bytes)); size > leftBytes {
			return false
		}
		if len(v.Bytes) < lentBytes {
			copied += len(v.Bytes)
		}
	}
	const headBytes = 16 // "$536870912\r\n" and "\r\n", or a null
	c.Out.Buf = slices.Grow(c.Out.Buf, copied+len(keys)*headBytes)
	return true
}

func strLen(c *Ctx) error {
	var v shard.Value
	if _, err := c.readString(&c.Keys[0], &v); err != nil {
		return err
	}
	c.Out.Int(int64(len(v.Bytes)))
	return nil
}

func getRange(c *Ctx) error {
	start, err := IntArg(c.Args[2])
	if err != nil {
		return err
	}
	end, err := IntArg(c.Args[3])
	if err != nil {
		return err
	}
	var v shard.Value
	if _, err := c.readString(&c.Keys[0], &v); err != nil {
		return err
	}
	c.replyBulk(&c.Keys[0], part(v.Bytes, start, end))
	return nil
}

// part is b from start to end, both included; negative ones count from the
// end of b, and what lies outside is left out.
func part(b []byte, start, end int64) []byte {
	length := int64(len(b))
	if start < 0 && end < 0 && start > end {
		return nil // also where both would be moved to the first byte
	}
	if start < 0 {
		start = max(length+start, 0)
	}
	if end < 0 {
		end = max(length+end, 0)
	}
	end = min(end, length-1)
	if start > end {
		return nil
	}
	return b[start : end+1]
}

func getSet(c *Ctx) error {
	if _, err := c.replyString(&c.Keys[0]); err != nil {
		return err
	}
	return c.putString(&c.Keys[0], c.Args[2], 0)
}

func getDel(c *Ctx) error {
	found, err := c.replyString(&c.Keys[0])
	if found {
		c.Tx.Delete(&c.Keys[0])
	}
	return err
}

// getEX looks at the expire time only when there is a string to expire, as
// Redis 7 does: the same wrong number is an error or goes unnoticed.
func getEX(c *Ctx) error {
	o, err := parseGetEX(c.Args[2:])
	if err != nil {
		return err
	}
	k := &c.Keys[0]
	var v shard.Value
	found, err := c.readString(k, &v)
	switch {
	case err != nil:
		return err
	case !found:
		c.Out.Null()
		return nil
	}
	deadlineMilli, err := o.expire.deadline(c)
	if err != nil {
		return err
	}
	c.replyBulk(k, v.Bytes) // before the write that may move them
	switch {
	case deadlineMilli != 0 && deadlineMilli <= c.NowMilli:
		c.Tx.Delete(k)
	case deadlineMilli != 0 || o.persist && v.DeadlineMilli != 0:
		if !c.Tx.SetDeadline(k, deadlineMilli) { // the key lives, so it is memory that is missing
			return shard.ErrNoMemory
		}
	}
	return nil
}
