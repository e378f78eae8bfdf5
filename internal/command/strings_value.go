package command

import "github.com/hapaxkv/hapax/internal/shard"

// defaultMaxBulkBytes is proto-max-bulk-len's default.
const defaultMaxBulkBytes = 512 << 20

// errTooLong is for a string that a command would build longer than a client
// may send one.
var errTooLong error = Error("ERR string exceeds maximum allowed size (proto-max-bulk-len)")

// maxBulk is the longest string a command may build.
func (c *Ctx) maxBulk() int64 {
	if c.MaxBulkBytes > 0 {
		return c.MaxBulkBytes
	}
	return defaultMaxBulkBytes
}

// fits says whether a string of have+more bytes, neither negative, may be
// built. The sum may not overflow on the way.
func (c *Ctx) fits(have, more int64) bool {
	return have <= c.maxBulk() && more <= c.maxBulk()-have
}

// readString finds a live string for a reader and fills v in: it counts a hit
// or a miss and moves the access clock. Without one v is left as it was.
func (c *Ctx) readString(k *shard.Key, v *shard.Value) (bool, error) {
	if !c.Tx.Read(k, v) {
		return false, nil
	}
	if v.Type != shard.String {
		*v = shard.Value{}
		return false, ErrWrongType
	}
	return true, nil
}

// peekString finds a live string for a writer, which Redis counts as neither
// hit nor miss; the write that follows moves the access clock.
func (c *Ctx) peekString(k *shard.Key) (shard.Value, bool, error) {
	v, found := c.Tx.Peek(k)
	if found && v.Type != shard.String {
		return shard.Value{}, false, ErrWrongType
	}
	return v, found, nil
}

// putString stores b with its deadline.
func (c *Ctx) putString(k *shard.Key, b []byte, deadlineMilli int64) error {
	return c.Tx.Put(k, shard.Value{Type: shard.String, Bytes: b, DeadlineMilli: deadlineMilli})
}

// maxKeptScratchBytes bounds what a loop holds on to between commands, so that
// one large value doesn't stay reserved for good (I12).
const maxKeptScratchBytes = 64 << 10

// keepScratch hands a buffer that grew from c.Scratch[:0] back for the next
// command.
func (c *Ctx) keepScratch(b []byte) {
	if cap(b) > maxKeptScratchBytes {
		b = nil
	}
	c.Scratch = b[:0]
}
