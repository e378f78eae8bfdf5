package command

import "github.com/hapaxkv/hapax/internal/shard"

// AppendKeys extracts the keys of args by the command's key specifications
// into dst, hashed. The one key extraction of the server (I11). A request
// whose shape the specification doesn't fit (MSET with a key and no value)
// yields the keys that are there; the handler refuses it.
func AppendKeys(dst []shard.Key, c *Command, args [][]byte) []shard.Key {
	for i := range c.Keys {
		first, last, step := c.Keys[i].positions(len(args))
		for ; first <= last; first += step {
			dst = append(dst, shard.Key{})
			dst[len(dst)-1].Set(args[first])
		}
	}
	return dst
}

// fetchKeys is how many keys a handler fetches together.
const fetchKeys = 32

// key is the i-th key, for handlers that go through them all in order: what
// the lookups of the next fetchKeys need is fetched side by side, just before
// their turn. With it MGET of 100 keys of a million takes a quarter of the
// time, MSET half.
func (c *Ctx) key(i int) *shard.Key {
	if i%fetchKeys == 0 && !c.Near && len(c.Keys) > 1 {
		c.Tx.Prefetch(c.Tx.DB(), c.Keys[i:min(i+fetchKeys, len(c.Keys))])
	}
	return &c.Keys[i]
}

// positions are the arguments that hold keys in a request of argc arguments:
// first, first+step ... last; none when first > last. They are always within
// the request.
func (s *KeySpec) positions(argc int) (first, last, step int) {
	last = s.Last
	if last < 0 {
		last += argc
	}
	return s.Begin, min(last, argc-1), max(s.Step, 1)
}
