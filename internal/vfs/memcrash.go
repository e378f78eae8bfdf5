package vfs

import (
	"maps"
	"math/rand/v2"
	"slices"
)

// chance is how one kind of unsynced change fares in a crash: all of it lost,
// all kept, or each one by a coin. A crash that only ever flips coins would
// almost never show the two ends.
type chance int

const (
	loseAll chance = iota
	keepAll
	keepSome
)

func (c chance) keep(rnd *rand.Rand) bool {
	return c == keepAll || c == keepSome && rnd.IntN(2) == 0
}

// Crash returns the file system as a power cut at this moment may leave it:
// every unsynced sector, size and name holds what it held at the last sync,
// what it holds now, or something it held in between. The same seed on the
// same state gives the same result. m goes on unharmed; open files and locks
// do not exist in the result.
func (m *Mem) Crash(seed uint64) *Mem {
	m.mu.Lock()
	defer m.mu.Unlock()
	rnd := rand.New(rand.NewPCG(seed, 0x68617061))
	survived := maps.Clone(m.durable)
	fate := chance(rnd.IntN(3))
	for _, c := range m.pending {
		if fate.keep(rnd) {
			c.applyTo(survived)
		}
	}
	out := NewMem()
	out.DirectBlockBytes = m.DirectBlockBytes
	out.dirs = maps.Clone(m.dirs)
	for _, name := range slices.Sorted(maps.Keys(survived)) {
		node := newMemNode()
		node.data = survived[name].crashed(rnd)
		node.durable = slices.Clone(node.data)
		out.names[name] = node
		out.durable[name] = node
	}
	return out
}

// crashed is the content that a power cut leaves.
func (n *memNode) crashed(rnd *rand.Rand) []byte {
	fate := chance(rnd.IntN(3))
	size := int64(len(n.durable))
	if candidates := append(slices.Clone(n.sizes), int64(len(n.data))); fate.keep(rnd) && n.unsynced() {
		size = candidates[rnd.IntN(len(candidates))]
		if fate == keepAll {
			size = int64(len(n.data))
		}
	}
	// Sectors that never reached the disk read as zeros inside the size.
	out := resized(slices.Clone(n.durable), size)
	for _, s := range slices.Sorted(maps.Keys(n.dirty)) {
		if !fate.keep(rnd) {
			continue
		}
		now := sectorOf(n.data, s)
		if versions := n.dirty[s]; fate == keepSome && len(versions) > 0 && rnd.IntN(2) == 0 {
			now = versions[rnd.IntN(len(versions))]
		}
		to := sectorOf(out, s)
		clear(to[copy(to, now):])
	}
	return out
}

func (n *memNode) unsynced() bool { return len(n.dirty) > 0 || len(n.sizes) > 0 }

// Kill returns the file system as SIGKILL leaves it: the kernel keeps every
// write and every name, but what was not synced still is not, so a Crash of
// the result may lose it. m goes on unharmed; locks are free in the result.
func (m *Mem) Kill() *Mem {
	m.mu.Lock()
	defer m.mu.Unlock()
	copies := map[*memNode]*memNode{}
	copyOf := func(n *memNode) *memNode {
		if copies[n] == nil {
			copies[n] = n.clone()
		}
		return copies[n]
	}
	out := NewMem()
	out.DirectBlockBytes = m.DirectBlockBytes
	out.dirs = maps.Clone(m.dirs)
	for name, node := range m.names {
		out.names[name] = copyOf(node)
	}
	for name, node := range m.durable {
		out.durable[name] = copyOf(node)
	}
	for _, c := range m.pending {
		out.pending = append(out.pending, nameChange{from: c.from, to: c.to, node: copyOf(c.node)})
	}
	return out
}

func (n *memNode) clone() *memNode {
	out := &memNode{
		data:    slices.Clone(n.data),
		durable: slices.Clone(n.durable),
		dirty:   make(map[int64][][]byte, len(n.dirty)),
		sizes:   slices.Clone(n.sizes),
	}
	for s, versions := range n.dirty {
		out.dirty[s] = slices.Clone(versions) // a version is never edited
	}
	return out
}
