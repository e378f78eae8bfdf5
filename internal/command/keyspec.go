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
			dst = append(dst, shard.MakeKey(args[first]))
		}
	}
	return dst
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
