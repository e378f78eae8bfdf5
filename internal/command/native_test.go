package command

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hapaxkv/hapax/internal/idem"
	"github.com/hapaxkv/hapax/internal/op"
	"github.com/hapaxkv/hapax/internal/shard"
)

// Creation and completion each write one record with the deadline of BEGIN
// (I3); nothing else writes.
func TestIdemRecords(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	requireRecord := func(records []testRecord, state idem.State, result string) {
		t.Helper()
		require.Len(t, records, 1)
		require.Equal(t, op.IdempotencyPut, records[0].Code)
		require.Equal(t, "k", string(records[0].Key))
		require.Equal(t, int64(testStartMilli+1000), records[0].DeadlineMilli)
		r, err := idem.Decode(records[0].Value)
		require.NoError(t, err)
		require.Equal(t, state, r.State)
		require.Equal(t, "f", string(r.Fingerprint))
		require.Equal(t, "o", string(r.Owner))
		require.Equal(t, result, string(r.Result))
	}
	requireRecord(h.written(func() { h.do("IDEM", "k", "BEGIN", "f", "o", "1000") }), idem.Pending, "")
	h.requireSilent(func() {
		h.do("IDEM", "k", "BEGIN", "f", "o", "604800000")
		h.do("IDEM", "k", "BEGIN", "g", "o", "604800000")
		h.do("IDEM", "k", "COMPLETE", "g", "o", "r")
		h.do("IDEM", "k", "COMPLETE", "f", "p", "r")
		h.do("IDEM", "nosuch", "COMPLETE", "f", "o", "r")
	})
	h.ctx.NowMilli += 999
	requireRecord(h.written(func() { h.do("IDEM", "k", "COMPLETE", "f", "o", "r") }), idem.Completed, "r")
	h.requireSilent(func() {
		h.do("IDEM", "k", "BEGIN", "f", "p", "604800000")
		h.do("IDEM", "k", "BEGIN", "g", "p", "604800000")
		h.do("IDEM", "k", "COMPLETE", "f", "o", "r")
		h.do("IDEM", "k", "COMPLETE", "f", "o", "s")
		h.do("IDEM", "k", "COMPLETE", "f", "p", "r")
	})
}

// Every error leaves value, deadline and log as they were.
func TestNativeErrorsChangeNothing(t *testing.T) {
	t.Parallel()
	pending := string(idem.Append(nil, &idem.Record{State: idem.Pending, Fingerprint: []byte("f"), Owner: []byte("o")}))
	limitRecord := string(appendLimitRecord(nil, 10, arrival{milli: testStartMilli + 5}))
	const soon = testStartMilli + 1000
	for name, v := range map[string]shard.Value{
		"a word":                    {Bytes: []byte("word"), DeadlineMilli: soon},
		"nothing":                   {DeadlineMilli: soon},
		"an IDEM record that stays": {Bytes: []byte(pending)},
		"a mark that stays":         {Bytes: onceMark},
		"a limit that stays":        {Bytes: []byte(limitRecord)},
		"a cut IDEM record":         {Bytes: []byte(pending[:12]), DeadlineMilli: soon},
		"a longer mark":             {Bytes: append([]byte("\xf1ON\x01"), 0), DeadlineMilli: soon},
		"a longer limit":            {Bytes: []byte(limitRecord + "x"), DeadlineMilli: soon},
	} {
		h := newHarness(t)
		h.plant("k", v)
		before, _ := h.value("k")
		h.requireSilent(func() {
			for _, request := range []string{
				"IDEM k BEGIN f o 1000", "IDEM k COMPLETE f o r", "ONCE k 1000", "LIMIT k 10 1000", "LIMIT k 10 1000 0",
			} {
				require.Regexp(t, "^-BADRECORD ", h.do(strings.Split(request, " ")...), "%s: %s", name, request)
			}
		})
		after, found := h.value("k")
		require.True(t, found)
		require.Equal(t, before, after, name)
		require.Equal(t, int64(2), h.count.IdemErrors)
	}
}

// For every pair of mistakes, the one that comes first in the documented order
// is the one answered.
func TestWhichIdemErrorWins(t *testing.T) {
	t.Parallel()
	const bad = "-BADRECORD Key holds a string that is not an IDEM record with a deadline"
	for _, action := range []string{"BEGIN", "COMPLETE"} {
		last := []struct{ arg, reply string }{
			{"x", "-ERR value is not an integer or out of range"}, {"0", "-ERR IDEM ttl must be 1 to 604800000 milliseconds"},
		}
		good := "1000"
		if action == "COMPLETE" {
			last = last[:0]
			last = append(last, struct{ arg, reply string }{
				strings.Repeat("r", idem.MaxResultBytes+1), "-ERR IDEM result must have at most 4194304 bytes"})
			good = "result"
		}
		type mistake struct {
			at    int
			arg   string
			reply string
		}
		order := []mistake{
			{2, "NOSUCH", "-ERR unknown IDEM action, must be BEGIN or COMPLETE"},
			{3, "", "-ERR IDEM fingerprint must have 1 to 128 bytes"},
			{4, strings.Repeat("o", 129), "-ERR IDEM owner must have 1 to 128 bytes"},
		}
		for _, l := range last {
			order = append(order, mistake{5, l.arg, l.reply})
		}
		h := newHarness(t)
		require.Equal(t, "+OK", h.do("SET", "word", "word"))
		h.plant("hash", shard.Value{Type: hashType, Bytes: []byte("fields")})
		for _, key := range []struct{ name, reply string }{{"word", bad}, {"hash", wrongType}} {
			args := []string{"IDEM", key.name, action, "f", "o", good}
			require.Equal(t, key.reply, h.do(args...))
			for i := len(order) - 1; i >= 0; i-- { // the later mistakes stay in
				args[order[i].at] = order[i].arg
				require.Equal(t, order[i].reply, h.do(args...))
			}
		}
	}
}

// outcome is a reply of IDEM in a word.
func outcome(reply string) string {
	reply = strings.NewReplacer("*1\r\n$8\r\nacquired", "acquired", "*1\r\n$7\r\npending", "pending",
		"*1\r\n$8\r\nconflict", "conflict", "*2\r\n$9\r\ncompleted\r\n", "completed ").Replace(reply)
	if i := strings.Index(reply, "$"); i >= 0 {
		_, result, _ := strings.Cut(reply[i:], "\r\n")
		return reply[:i] + result
	}
	return reply
}

// operation is what the contract says of one key.
type operation struct {
	there, done                bool
	fingerprint, owner, result string
	deadlineMilli              int64
}

// idemModel is the contract in its plainest form.
type idemModel struct {
	nowMilli int64
	keys     map[string]operation
}

func (m *idemModel) live(key string) operation {
	o := m.keys[key]
	if o.there && m.nowMilli >= o.deadlineMilli {
		o = operation{}
		m.keys[key] = o
	}
	return o
}

func (m *idemModel) begin(key, fingerprint, owner string, ttlMilli int64) string {
	switch o := m.live(key); {
	case !o.there:
		m.keys[key] = operation{there: true, fingerprint: fingerprint, owner: owner, deadlineMilli: m.nowMilli + ttlMilli}
		return "acquired"
	case o.fingerprint != fingerprint:
		return "conflict"
	case !o.done:
		return "pending"
	default:
		return "completed " + o.result
	}
}

func (m *idemModel) complete(key, fingerprint, owner, result string) string {
	o := m.live(key)
	if !o.there || o.fingerprint != fingerprint || o.owner != owner || o.done && o.result != result {
		return ":0"
	}
	o.done, o.result = true, result
	m.keys[key] = o
	return ":1"
}

// TestIdemModel lets several owners begin, complete and delete, while time
// goes on, and compares every reply, every record and every deadline.
func TestIdemModel(t *testing.T) {
	t.Parallel()
	for seed := range uint64(40) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			rnd := rand.New(rand.NewPCG(seed, 11))
			pick := func(from ...string) string { return from[rnd.IntN(len(from))] }
			h := newHarness(t)
			m := idemModel{nowMilli: testStartMilli, keys: map[string]operation{}}
			for range 300 {
				key, fingerprint, owner := pick("a", "b", "{a}c"), pick("f", "g"), pick("me", "you", "them")
				switch rnd.IntN(10) {
				case 0:
					if m.live(key).there {
						require.Equal(t, ":1", h.do("DEL", key))
					} else {
						require.Equal(t, ":0", h.do("DEL", key))
					}
					m.keys[key] = operation{}
				case 1, 2:
					m.nowMilli += int64(rnd.IntN(30))
					h.ctx.NowMilli = m.nowMilli
				case 3, 4, 5, 6:
					ttlMilli := 1 + int64(rnd.IntN(100))
					want := m.begin(key, fingerprint, owner, ttlMilli)
					got := h.do("IDEM", key, "BEGIN", fingerprint, owner, strconv.FormatInt(ttlMilli, 10))
					require.Equal(t, want, outcome(got))
				default:
					result := pick("", "r", "s")
					want := m.complete(key, fingerprint, owner, result)
					require.Equal(t, want, h.do("IDEM", key, "COMPLETE", fingerprint, owner, result))
				}
				requireOperation(t, h, key, m.live(key))
			}
		})
	}
}

func requireOperation(t *testing.T, h *harness, key string, want operation) {
	t.Helper()
	v, found := h.value(key)
	require.Equal(t, want.there, found)
	if !found {
		return
	}
	r, err := idem.Decode(v.Bytes)
	require.NoError(t, err)
	require.Equal(t, want, operation{
		there: true, done: r.State == idem.Completed, fingerprint: string(r.Fingerprint),
		owner: string(r.Owner), result: string(r.Result), deadlineMilli: v.DeadlineMilli,
	})
}

func TestNativeCounters(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	for _, request := range []string{
		"IDEM k BEGIN f o 1000", "IDEM k BEGIN f o 1000", "IDEM k BEGIN g o 1000", "IDEM k COMPLETE f p r",
		"IDEM k COMPLETE f o r", "IDEM k COMPLETE f o r", "IDEM k COMPLETE f o s", "IDEM k BEGIN f o 1000",
		"IDEM k NOSUCH f o 1000", "ONCE o 1000", "ONCE o 1000", "ONCE o 1000", "LIMIT l 1 1000", "LIMIT l 1 1000",
	} {
		h.do(strings.Split(request, " ")...)
	}
	require.Equal(t, Counters{
		IdemAcquired: 1, IdemPending: 1, IdemConflict: 1, IdemCompleted: 1, IdemPublished: 1, IdemRepeated: 1,
		IdemRefused: 2, IdemErrors: 1, OnceFirst: 1, OnceRepeat: 2, LimitAllowed: 1, LimitDenied: 1,
	}, h.count)
}

// ONCE and LIMIT write only when they say yes, with the deadline in the record.
func TestOnceAndLimitRecords(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	first := h.written(func() { require.Equal(t, ":1", h.do("ONCE", "o", "1000")) })
	require.Len(t, first, 1)
	require.Equal(t, op.Put, first[0].Code)
	require.Equal(t, int64(testStartMilli+1000), first[0].DeadlineMilli)
	spent := h.written(func() { require.Equal(t, "*4\r\n:1\r\n:0\r\n:0\r\n:1000", h.do("LIMIT", "l", "3", "1000", "3")) })
	require.Len(t, spent, 1)
	require.Equal(t, int64(testStartMilli+1000), spent[0].DeadlineMilli)
	h.requireSilent(func() {
		require.Equal(t, ":0", h.do("ONCE", "o", "5000"))
		require.Equal(t, "*4\r\n:0\r\n:0\r\n:334\r\n:1000", h.do("LIMIT", "l", "3", "1000"))
		require.Equal(t, "*4\r\n:1\r\n:0\r\n:0\r\n:1000", h.do("LIMIT", "l", "3", "1000", "0"))
		require.Equal(t, "*4\r\n:0\r\n:0\r\n:-1\r\n:1000", h.do("LIMIT", "l", "3", "1000", "4"))
	})
	h.ctx.NowMilli += 1000
	require.Equal(t, ":1", h.do("ONCE", "o", "5000"))
	third := h.written(func() { require.Equal(t, "*4\r\n:1\r\n:2\r\n:0\r\n:334", h.do("LIMIT", "l", "3", "1000")) })
	require.Equal(t, h.ctx.NowMilli+334, third[len(third)-1].DeadlineMilli, "not before the last part of a millisecond")
}

// A record is bounded by proto-max-bulk-len as any string is.
func TestIdemRecordSize(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.ctx.MaxBulkBytes = 20
	const tooLong = "-ERR IDEM record exceeds maximum allowed size (proto-max-bulk-len)"
	require.Equal(t, tooLong, h.do("IDEM", "k", "BEGIN", "12345", "12345", "1000"))
	require.Equal(t, "acquired", outcome(h.do("IDEM", "k", "BEGIN", "1234", "1234", "1000")))
	require.Equal(t, tooLong, h.do("IDEM", "k", "COMPLETE", "1234", "1234", "12"))
	require.Equal(t, "pending", outcome(h.do("IDEM", "k", "BEGIN", "1234", "1234", "1000")))
	require.Equal(t, ":1", h.do("IDEM", "k", "COMPLETE", "1234", "1234", "1"))
}
