package sim

import (
	"encoding/binary"
	"math/big"
	"strings"
)

// What IDEM, ONCE and LIMIT keep and answer, from docs/commands/native.md and
// docs/format/idem-record.md.

var nativeCommands = map[string]func(c *call){
	"IDEM":  modelIdem,
	"ONCE":  modelOnce,
	"LIMIT": modelLimit,
}

const (
	badIdem  = "BADRECORD Key holds a string that is not an IDEM record with a deadline"
	badOnce  = "BADRECORD Key holds a string that is not a ONCE mark with a deadline"
	badLimit = "BADRECORD Key holds a string that is not a LIMIT record with a deadline"
)

// idemRecord is the packed record taken apart.
type idemRecord struct {
	completed                  bool
	fingerprint, owner, result string
}

func (r idemRecord) pack() string {
	b := []byte{0xF1, 'I', 'D', 1, 1, byte(len(r.fingerprint)), byte(len(r.owner)), 0, 0, 0, 0}
	if r.completed {
		b[4] = 2
	}
	binary.LittleEndian.PutUint32(b[7:], uint32(len(r.result)))
	return string(b) + r.fingerprint + r.owner + r.result
}

func unpackIdem(e entry) (r idemRecord, ok bool) {
	s := e.value
	if e.deadline == 0 || len(s) < 11 || !strings.HasPrefix(s, "\xF1ID\x01") {
		return r, false
	}
	f, o, n := int(s[5]), int(s[6]), int(binary.LittleEndian.Uint32([]byte(s[7:11])))
	if s[4] < 1 || s[4] > 2 || f < 1 || f > 128 || o < 1 || o > 128 || s[4] == 1 && n != 0 || len(s) != 11+f+o+n {
		return r, false
	}
	return idemRecord{s[4] == 2, s[11 : 11+f], s[11+f : 11+f+o], s[11+f+o:]}, true
}

func modelIdem(c *call) {
	e, live := c.find(c.args[1])
	var r idemRecord
	if live {
		var ok bool
		if r, ok = unpackIdem(e); !ok {
			c.fail(badIdem)
			return
		}
	}
	if c.args[2] == "BEGIN" {
		c.begin(live, r)
	} else {
		c.complete(live, r, e.deadline)
	}
}

func (c *call) begin(live bool, r idemRecord) {
	switch {
	case !live:
		c.put(c.args[1], entry{idemRecord{fingerprint: c.args[3], owner: c.args[4]}.pack(), c.now + c.number(5)})
		c.reply = array(bulk("acquired"))
	case r.fingerprint != c.args[3]:
		c.reply = array(bulk("conflict"))
	case r.completed:
		c.reply = array(bulk("completed"), bulk(r.result))
	default:
		c.reply = array(bulk("pending"))
	}
}

func (c *call) complete(live bool, r idemRecord, deadline int64) {
	mine := live && r.fingerprint == c.args[3] && r.owner == c.args[4]
	switch {
	case mine && !r.completed:
		r.completed, r.result = true, c.args[5]
		c.put(c.args[1], entry{r.pack(), deadline})
		c.int(1)
	default:
		c.flag(mine && r.result == c.args[5])
	}
}

const onceMark = "\xF1ON\x01"

func modelOnce(c *call) {
	e, live := c.find(c.args[1])
	switch {
	case !live:
		c.put(c.args[1], entry{onceMark, c.now + c.number(2)})
		c.int(1)
	case e.value != onceMark || e.deadline == 0:
		c.fail(badOnce)
	default:
		c.int(0)
	}
}

func number(n int64) *big.Int { return big.NewInt(n) }

func times(a, b int64) *big.Int { return new(big.Int).Mul(number(a), number(b)) }

// floorDiv and ceilDiv divide what is not negative.
func floorDiv(a, b *big.Int) *big.Int { return new(big.Int).Div(a, b) }

func ceilDiv(a, b *big.Int) *big.Int {
	return floorDiv(new(big.Int).Add(a, new(big.Int).Sub(b, number(1))), b)
}

// modelLimit counts moments in parts of 1/limit of a millisecond, as numbers of
// any size.
func modelLimit(c *call) {
	limit, window, cost := c.number(2), c.number(3), int64(1)
	if len(c.args) > 4 {
		cost = c.number(4)
	}
	arrival, ok := c.arrival(limit)
	if !ok {
		c.fail(badLimit)
		return
	}
	now, span := times(c.now, limit), times(window, limit)
	horizon := new(big.Int).Add(now, span)
	next := new(big.Int).Add(arrival, times(cost, window))
	allowed := cost <= limit && next.Cmp(horizon) <= 0
	retry := int64(0)
	switch {
	case allowed:
		arrival = next
	case cost > limit:
		retry = -1
	default:
		retry = ceilDiv(next, number(limit)).Int64() - window - c.now
	}
	remaining := int64(0)
	if arrival.Cmp(horizon) <= 0 {
		remaining = floorDiv(new(big.Int).Sub(horizon, arrival), number(window)).Int64()
	}
	full := ceilDiv(arrival, number(limit)).Int64()
	yes := ":0\r\n"
	if allowed {
		yes = ":1\r\n"
	}
	c.reply = array(yes, ":"+number(remaining).String()+"\r\n", ":"+number(retry).String()+"\r\n", ":"+number(full-c.now).String()+"\r\n")
	if allowed && cost > 0 {
		c.put(c.args[1], entry{packLimit(limit, arrival), full})
	}
}

// arrival is the moment at which all of the limit is available, in parts of
// 1/limit ms; false when the key holds something else.
func (c *call) arrival(limit int64) (*big.Int, bool) {
	now := times(c.now, limit)
	e, live := c.find(c.args[1])
	if !live {
		return now, true
	}
	if e.deadline == 0 || len(e.value) != 20 || !strings.HasPrefix(e.value, "\xF1LM\x01") {
		return nil, false
	}
	b := []byte(e.value)
	unit := int64(binary.LittleEndian.Uint32(b[4:]))
	part := int64(binary.LittleEndian.Uint32(b[8:]))
	milli := int64(binary.LittleEndian.Uint64(b[12:]))
	if milli < c.now {
		return now, true
	}
	a := times(milli, limit)
	return a.Add(a, ceilDiv(times(part, limit), number(unit))), true
}

func packLimit(limit int64, arrival *big.Int) string {
	milli, part := new(big.Int).DivMod(arrival, number(limit), new(big.Int))
	b := []byte("\xF1LM\x01")
	b = binary.LittleEndian.AppendUint32(b, uint32(limit))
	b = binary.LittleEndian.AppendUint32(b, uint32(part.Int64()))
	return string(binary.LittleEndian.AppendUint64(b, milli.Uint64()))
}
