package inspect

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"github.com/hapaxkv/hapax/internal/idem"
	"github.com/hapaxkv/hapax/internal/wal"
)

// claim is what the proof keeps of the IDEM record under one key. Digests
// stand for owner, fingerprint and result, which may be long.
type claim struct {
	owner, fingerprint, result uint64
	deadlineMilli              int64 // 0: the record lost it, IDEM answers BADRECORD
	lsn                        wal.LSN
	state                      idem.State
	// edited: bytes of the value were overwritten by another command, so
	// nothing is known of it before it is written whole again.
	edited bool
}

// live says whether IDEM saw the record at T.
func (c *claim) live(tMilli int64) bool {
	return c.deadlineMilli == 0 || c.deadlineMilli > tMilli
}

func newClaim(r *idem.Record, deadlineMilli int64, lsn wal.LSN) claim {
	return claim{
		owner: digest(r.Owner), fingerprint: digest(r.Fingerprint), result: digest(r.Result),
		deadlineMilli: deadlineMilli, lsn: lsn, state: r.State,
	}
}

func digest(b []byte) uint64 {
	sum := sha256.Sum256(b)
	return binary.LittleEndian.Uint64(sum[:])
}

// same says whether two claims are of one record in one state.
func (c *claim) same(d *claim) bool {
	return c.owner == d.owner && c.fingerprint == d.fingerprint && c.result == d.result &&
		c.state == d.state && c.deadlineMilli == d.deadlineMilli
}

// refuse says which rule it breaks that IDEM wrote next over c at T; "" when
// none. c is nil when no record was under the key.
//
// T of a log record is at least the T that its command ran at, so a record
// that is live here was live for the command; one that is over may have been.
func (c *claim) refuse(next *claim, tMilli int64) string {
	switch {
	case c != nil && c.edited:
		return ""
	case c != nil && c.deadlineMilli == 0:
		return "IDEM wrote over a record without a deadline"
	case next.state == idem.Pending:
		return c.refuseBegin(next, tMilli)
	}
	return c.refuseComplete(next, tMilli)
}

func (c *claim) refuseBegin(next *claim, tMilli int64) string {
	switch {
	case c == nil || !c.live(tMilli):
		return ""
	case c.state == idem.Completed:
		return "a completed record was begun again before its deadline"
	case c.owner != next.owner:
		return "two owners at once"
	}
	return "the same owner acquired twice"
}

func (c *claim) refuseComplete(next *claim, tMilli int64) string {
	switch {
	case c == nil && next.deadlineMilli <= tMilli:
		return "" // completed at a T that the log had passed; it was over already
	case c == nil:
		return "completed without having been begun"
	case c.owner != next.owner:
		return "completed by another owner"
	case c.fingerprint != next.fingerprint:
		return "completed with another fingerprint"
	case c.deadlineMilli != next.deadlineMilli:
		return fmt.Sprintf("its deadline was moved from %s (%d) to %s (%d)",
			milliTime(c.deadlineMilli), c.deadlineMilli, milliTime(next.deadlineMilli), next.deadlineMilli)
	case c.state == idem.Completed && c.result != next.result:
		return "a completed result was changed"
	}
	return ""
}

// magicBytes open every IDEM record.
var magicBytes = [3]byte{0xF1, 'I', 'D'}

// mayMakeRecord says whether bytes written at an offset of a value can make a
// record of what was none: they put part of the magic in place.
func mayMakeRecord(offset int64, b []byte) bool {
	for i := 0; i < len(b) && offset+int64(i) < int64(len(magicBytes)); i++ {
		if b[i] != magicBytes[offset+int64(i)] {
			return false
		}
	}
	return offset < int64(len(magicBytes)) && len(b) > 0
}
