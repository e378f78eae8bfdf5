package shard

// fills is how many degrees of fullness a census tells apart.
const fills = 16

// spareShare: what stays must have room for all blocks and for one in so many
// more, so that the writes of the next moments need no new slab.
const spareShare = 32

// minGainShare: a block size of which less than one slab in so many could be
// gained is left alone.
const minGainShare = 20

// census counts the slabs of one arena by block size and fullness; then, when
// choose has been there, how many of them are still to leave.
type census struct {
	slabs [maxBlockUnits + 1][fills]uint32
	live  [maxBlockUnits + 1]uint32
}

func slabBlocks(units int) int { return slabUnits / units }

func (s *slab) fill() int { return int(s.live) * fills / (slabBlocks(int(s.units)) + 1) }

// sweep visits the slabs that are in use from the last one on, as far as the
// budget goes.
func (c *compaction) sweep(budget int, visit func(id uint32, s *slab)) (cost int, done bool) {
	a := &c.ks.arena
	end := uint32(min(int(c.slab)+budget*slabsPerCost, int(a.fresh)))
	cost = int(end-c.slab)/slabsPerCost + 1
	for ; c.slab < end; c.slab++ {
		if s := a.slab(c.slab); s.units != 0 {
			visit(c.slab, s)
		}
	}
	if c.slab < a.fresh {
		return cost, false
	}
	c.slab = 0
	return cost, true
}

func (c *compaction) count(_ uint32, s *slab) {
	if s.prev != leaving {
		c.census.slabs[s.units][s.fill()]++
		c.census.live[s.units] += uint32(s.live)
	}
}

// choose decides which slabs and chunks leave, and says whether that is worth
// a walk.
func (c *compaction) choose(o *CompactOptions) bool {
	gain := int64(c.census.choose()) * slabBytes
	a := &c.ks.arena
	worth := gain > 0 && gain*100 >= a.held*int64(o.MinWastePercent)
	if !worth {
		*c.census = census{}
	}
	if c.ks.big.choose(o.Purge) {
		worth = true
	}
	c.found = c.found || worth
	return worth
}

// choose replaces the counts by how many slabs shall leave, the emptiest
// first, and returns how many that is.
func (n *census) choose() (gain int) {
	for units := 1; units <= maxBlockUnits; units++ {
		bySize := &n.slabs[units]
		total := 0
		for _, slabs := range bySize {
			total += int(slabs)
		}
		live, per := int(n.live[units]), slabBlocks(units)
		leave := total - (live+live/spareShare+per-1)/per
		if leave*minGainShare < total {
			leave = 0
		}
		gain += leave
		for fill := range bySize {
			bySize[fill] = uint32(min(int(bySize[fill]), leave))
			leave -= int(bySize[fill])
		}
	}
	return gain
}

func (c *compaction) mark(id uint32, s *slab) {
	if s.prev == leaving {
		return
	}
	wanted := &c.census.slabs[s.units][s.fill()]
	if *wanted == 0 {
		return
	}
	*wanted--
	a := &c.ks.arena
	if !s.full() {
		a.unlink(&a.partial[s.units], id)
	}
	s.prev = leaving
	a.nLeave++
}

// giveBack makes a slab that did not become free one like others.
func (c *compaction) giveBack(id uint32, s *slab) {
	if s.prev != leaving {
		return
	}
	a := &c.ks.arena
	s.prev = 0
	a.nLeave--
	if !s.full() {
		a.link(&a.partial[s.units], id)
	}
}
