package inspect

import (
	"bytes"
	"maps"
	"slices"

	"github.com/hapaxkv/hapax/internal/idem"
	"github.com/hapaxkv/hapax/internal/op"
	"github.com/hapaxkv/hapax/internal/wal"
)

// maxListed bounds the places that a report names; what is beyond is counted.
const maxListed = 100

// Place is where a record of the log stands.
type Place struct {
	File   string  `json:"file"`             // below the directory
	Offset int64   `json:"offset,omitempty"` // of its frame; 0 in a snapshot
	LSN    wal.LSN `json:"lsn"`
	TMilli int64   `json:"t_ms"`
}

// Violation is a rule of IDEM that the records break.
type Violation struct {
	Place
	DB     int
	Key    []byte
	Before wal.LSN // the record that wrote what was there; 0: none, or a snapshot has it
	Rule   string
}

// Removal is an IDEM record that another command took away or changed before
// its deadline, which is that command's right.
type Removal struct {
	Place
	DB   int
	Key  []byte // nil for a whole database
	How  string
	many int64
}

// IdemReport is what the proof found.
type IdemReport struct {
	Begun      int64       `json:"begun"`
	Completed  int64       `json:"completed"`
	Removed    int64       `json:"removed"` // live records that other commands took away or changed
	Live       int64       `json:"live"`    // at the end
	Violations []Violation `json:"violations,omitempty"`
	Removals   []Removal   `json:"removals,omitempty"`
	Broken     int64       `json:"broken"` // all violations, the listed ones included
}

// proof follows the IDEM records through a log: one claim for each key that
// has one, dropped when its deadline is past.
type proof struct {
	dbs     map[int]map[string]claim
	report  IdemReport
	lastT   int64
	lastLSN wal.LSN
	size    int64
	sweepAt int64 // size at which claims that are over are dropped
}

// minSweep is how many claims are kept before any are looked for that are over.
const minSweep = 1024

func newProof() *proof {
	return &proof{dbs: map[int]map[string]claim{}, sweepAt: minSweep}
}

// get is the claim under a key, nil for none.
func (p *proof) get(db int, key []byte) *claim {
	if c, ok := p.dbs[db][string(key)]; ok {
		return &c
	}
	return nil
}

func (p *proof) set(db int, key []byte, c *claim) {
	claims := p.dbs[db]
	if claims == nil {
		claims = map[string]claim{}
		p.dbs[db] = claims
	}
	before := len(claims)
	claims[string(key)] = *c
	p.size += int64(len(claims) - before)
	if p.size >= p.sweepAt {
		p.sweep()
	}
}

func (p *proof) drop(db int, key []byte) {
	claims := p.dbs[db]
	before := len(claims)
	delete(claims, string(key))
	p.size -= int64(before - len(claims))
}

// sweep drops what is over, when the number of claims has doubled.
func (p *proof) sweep() {
	for _, claims := range p.dbs {
		for key, c := range claims {
			if !c.live(p.lastT) {
				delete(claims, key)
				p.size--
			}
		}
	}
	p.sweepAt = max(2*p.size, minSweep)
}

// entry takes in what a snapshot holds under a key.
func (p *proof) entry(o *op.Op, lsn wal.LSN) {
	if c := p.stored(o, lsn); c != nil {
		p.set(o.DB, o.Key, c)
	}
}

// stored is the claim that a whole value makes, whatever wrote it; nil for a
// value that is no IDEM record. One that begins like a record can be made one
// by editing, so it counts as edited.
func (p *proof) stored(o *op.Op, lsn wal.LSN) *claim {
	r, err := idem.Decode(o.Value)
	if err == nil {
		c := newClaim(&r, o.DeadlineMilli, lsn)
		return &c
	}
	if bytes.HasPrefix(o.Value, magicBytes[:]) {
		return &claim{edited: true, deadlineMilli: o.DeadlineMilli, lsn: lsn}
	}
	return nil
}

// record takes the next record of the log.
func (p *proof) record(at Place, o *op.Op) {
	p.lastT, p.lastLSN = max(p.lastT, at.TMilli), at.LSN
	switch o.Code {
	case op.IdempotencyPut:
		p.idempotencyPut(at, o)
	case op.Put:
		p.removed(at, o, "overwritten by another command")
		p.drop(o.DB, o.Key)
		if c := p.stored(o, at.LSN); c != nil {
			p.set(o.DB, o.Key, c)
		}
	case op.Delete:
		p.removed(at, o, "deleted")
		p.drop(o.DB, o.Key)
	case op.SetDeadline:
		if c := p.get(o.DB, o.Key); c != nil {
			p.removed(at, o, "another command changed its deadline")
			c.deadlineMilli, c.lsn = o.DeadlineMilli, at.LSN
			p.set(o.DB, o.Key, c)
		}
	case op.Splice:
		p.splice(at, o)
	case op.FlushDB:
		p.flush(at, o.DB)
	case op.FlushAll:
		for _, db := range slices.Sorted(maps.Keys(p.dbs)) {
			p.flush(at, db)
		}
	case op.SwapDB:
		p.dbs[o.DB], p.dbs[o.DB2] = p.dbs[o.DB2], p.dbs[o.DB]
	}
}

func (p *proof) idempotencyPut(at Place, o *op.Op) {
	before := p.get(o.DB, o.Key)
	r, err := idem.Decode(o.Value)
	if err != nil {
		p.violation(at, o, before, "IDEM wrote bytes that are no record")
		p.drop(o.DB, o.Key)
		return
	}
	next := newClaim(&r, o.DeadlineMilli, at.LSN)
	if rule := before.refuse(&next, at.TMilli); rule != "" {
		p.violation(at, o, before, rule)
	}
	if next.state == idem.Pending {
		p.report.Begun++
	} else {
		p.report.Completed++
	}
	p.set(o.DB, o.Key, &next)
}

// splice is for APPEND and SETRANGE: whatever the value is now, it was not
// IDEM that made it so.
func (p *proof) splice(at Place, o *op.Op) {
	c := p.get(o.DB, o.Key)
	switch {
	case c != nil && !c.edited:
		p.removed(at, o, "another command edited its bytes")
		c.edited, c.lsn = true, at.LSN
	case c == nil && mayMakeRecord(o.Offset, o.Value):
		c = &claim{edited: true, lsn: at.LSN}
	default:
		return
	}
	p.set(o.DB, o.Key, c)
}

// flush empties one database; its records are listed as one removal.
func (p *proof) flush(at Place, db int) {
	live := int64(0)
	for _, c := range p.dbs[db] {
		if !c.edited && c.live(at.TMilli) {
			live++
		}
	}
	p.size -= int64(len(p.dbs[db]))
	delete(p.dbs, db)
	if live > 0 {
		p.remove(Removal{Place: at, DB: db, How: "the database was flushed, with " + counted(live, "record"), many: live})
	}
}

// removed notes that o takes away or changes a live record.
func (p *proof) removed(at Place, o *op.Op, how string) {
	if c := p.get(o.DB, o.Key); c != nil && !c.edited && c.live(at.TMilli) {
		p.remove(Removal{Place: at, DB: o.DB, Key: bytes.Clone(o.Key), How: how, many: 1})
	}
}

func (p *proof) remove(r Removal) {
	p.report.Removed += r.many
	if len(p.report.Removals) < maxListed {
		p.report.Removals = append(p.report.Removals, r)
	}
}

func (p *proof) violation(at Place, o *op.Op, before *claim, rule string) {
	v := Violation{Place: at, DB: o.DB, Key: bytes.Clone(o.Key), Rule: rule}
	if before != nil {
		v.Before = before.lsn
	}
	p.broken(v)
}

func (p *proof) broken(v Violation) {
	p.report.Broken++
	if len(p.report.Violations) < maxListed {
		p.report.Violations = append(p.report.Violations, v)
	}
}

// finish counts what is left.
func (p *proof) finish() *IdemReport {
	p.report.Live = 0
	for _, claims := range p.dbs {
		for _, c := range claims {
			if !c.edited && c.deadlineMilli > p.lastT {
				p.report.Live++
			}
		}
	}
	return &p.report
}
