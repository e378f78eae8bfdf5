package inspect

import (
	"fmt"
	"maps"
	"slices"
	"sort"

	"github.com/hapaxkv/hapax/internal/op"
	"github.com/hapaxkv/hapax/internal/snapshot"
	"github.com/hapaxkv/hapax/internal/wal"
)

// snapshotProof is the Sink that leads a proof to the LSN of a snapshot: it
// takes in the entries, and then the snapshot's records, each for the keys
// whose piece does not hold its effect yet.
type snapshotProof struct {
	*proof
	file    string
	header  snapshot.Header
	placeOf func(key []byte, secrets *[4]uint64) uint64
	pieces  []snapshot.Piece
}

func (t *Target) newSnapshotProof(file string, h snapshot.Header) *snapshotProof {
	return &snapshotProof{proof: newProof(), file: file, header: h, placeOf: t.PlaceOf}
}

// Entries implements snapshot.Sink; it is called from one goroutine.
func (s *snapshotProof) Entries(ops []op.Op) error {
	for i := range ops {
		s.entry(&ops[i], 0)
	}
	return nil
}

// Pieces implements snapshot.Sink.
func (s *snapshotProof) Pieces(p []snapshot.Piece) error {
	s.pieces = slices.Clone(p)
	return nil
}

// Record implements snapshot.Sink. LSNs of pieces never decrease, so the places
// that do not hold the effect of a record come before all others. A swap of
// databases is in no piece: they go by their names at the beginning.
func (s *snapshotProof) Record(lsn wal.LSN, tMilli int64, o *op.Op) error {
	at := Place{File: s.file, LSN: lsn, TMilli: tMilli}
	end := uint64(0) // the first place that holds the effect
	if n := sort.Search(len(s.pieces), func(i int) bool { return s.pieces[i].LSN >= lsn }); n > 0 {
		end = s.pieces[n-1].End
	}
	switch o.Code {
	case op.FlushDB, op.FlushAll:
		s.flushBefore(at, o, end)
	case op.SwapDB, op.Tick:
		s.record(at, o)
	default:
		if s.placeOf(o.Key, &s.header.HashSecrets) < end {
			s.record(at, o)
		}
	}
	return nil
}

// flushBefore empties databases of what is before a place.
func (s *snapshotProof) flushBefore(at Place, o *op.Op, end uint64) {
	behind := map[int]map[string]claim{}
	for db, claims := range s.dbs {
		for key, c := range claims {
			if s.placeOf([]byte(key), &s.header.HashSecrets) < end {
				continue
			}
			if behind[db] == nil {
				behind[db] = map[string]claim{}
			}
			behind[db][key] = c
			s.drop(db, []byte(key))
		}
	}
	s.record(at, o)
	for db, claims := range behind {
		for key, c := range claims {
			s.set(db, []byte(key), &c)
		}
	}
}

// compare says where the records of a snapshot are not those that the log
// leads to at the same LSN. Records that are over at lastT are in either or
// not.
func (p *proof) compare(taken *snapshotProof, lastT int64) {
	at := Place{File: taken.file, LSN: p.lastLSN, TMilli: lastT}
	for _, db := range slices.Sorted(maps.Keys(p.dbs)) {
		for key, c := range p.dbs[db] {
			if c.edited || !c.live(lastT) {
				continue
			}
			switch d, there := taken.dbs[db][key]; {
			case !there:
				p.mismatch(at, db, key, &c, "the log has this record, the snapshot does not")
			case !d.edited && !c.same(&d):
				p.mismatch(at, db, key, &c, fmt.Sprintf("the snapshot has another record than the log: %s", difference(&c, &d)))
			}
		}
	}
	for _, db := range slices.Sorted(maps.Keys(taken.dbs)) {
		for key, c := range taken.dbs[db] {
			if _, there := p.dbs[db][key]; !there && !c.edited && c.live(lastT) {
				p.mismatch(at, db, key, nil, "the snapshot has this record, the log does not")
			}
		}
	}
}

func (p *proof) mismatch(at Place, db int, key string, c *claim, rule string) {
	v := Violation{Place: at, DB: db, Key: []byte(key), Rule: rule}
	if c != nil {
		v.Before = c.lsn
	}
	p.broken(v)
}

// difference names the first field in which two claims differ.
func difference(c, d *claim) string {
	switch {
	case c.state != d.state:
		return "its state"
	case c.owner != d.owner:
		return "its owner"
	case c.fingerprint != d.fingerprint:
		return "its fingerprint"
	case c.deadlineMilli != d.deadlineMilli:
		return "its deadline"
	}
	return "its result"
}
