package command

// nameIndex finds rows by name in any case: an open-addressed table, at most a
// quarter full, whose hash folds case. A Go map would need the name in lower
// case first and hashes it at more length than these short names deserve.
type nameIndex struct {
	slots   []*Command
	longest int
}

func newNameIndex(rows []*Command) nameIndex {
	size := 64
	for size < 4*len(rows) {
		size *= 2
	}
	x := nameIndex{slots: make([]*Command, size)}
	for _, c := range rows {
		i := x.home([]byte(c.Name))
		for x.slots[i] != nil {
			i = (i + 1) & (size - 1)
		}
		x.slots[i] = c
		x.longest = max(x.longest, len(c.Name))
	}
	return x
}

// home is where name belongs. Setting bit 5 folds letters; what else it folds
// together only shares a place, find compares in full.
func (x *nameIndex) home(name []byte) int {
	h := uint32(len(name))
	for _, c := range name {
		h = h*33 + uint32(c|0x20)
	}
	return int(h^h>>15) & (len(x.slots) - 1)
}

func (x *nameIndex) find(name []byte) *Command {
	if len(name) > x.longest {
		return nil
	}
	for i := x.home(name); ; i = (i + 1) & (len(x.slots) - 1) {
		c := x.slots[i]
		if c == nil || Is(name, c.Name) {
			return c
		}
	}
}
