package command

import (
	"bufio"
	"bytes"
	"errors"

	"github.com/hapaxkv/hapax/internal/wal"
)

// hostMilli is the fake server's time.
const hostMilli = 1_700_000_000_123

// fakeHost is a server of canned answers that records what it was told.
type fakeHost struct {
	clients  []ClientInfo
	password string
	config   [][2]string
	stats    Stats
	synced   wal.LSN
	debug    bool

	killed    []int64
	unblocked []int64
	withError bool
	set       [][2]string
	resets    int
	purges    int
	stops     []ShutdownMode
	refused   bool
	sleptMS   int64

	room                 *int // nil is any
	startErr, overErr    error
	overTo               int64
	scheduled            []SnapshotCause
	cancels, unscheduled int
}

func (f *fakeHost) Clients(do func(*ClientInfo)) {
	for i := range f.clients {
		do(&f.clients[i])
	}
}

func (f *fakeHost) Client(s *Session) ClientInfo {
	for _, ci := range f.clients {
		if ci.ID == s.ID {
			return ci
		}
	}
	return ClientInfo{ID: s.ID}
}

func (f *fakeHost) Kill(ids []int64, self int64) int {
	for _, id := range ids {
		if id == self {
			panic("a handler closes its own connection by CloseAfter")
		}
	}
	f.killed = append(f.killed, ids...)
	return len(ids)
}

func (f *fakeHost) Unblock(id int64, withError bool) bool {
	f.unblocked, f.withError = append(f.unblocked, id), withError
	return id == 7
}

func (f *fakeHost) Databases() int { return 16 }

func (f *fakeHost) Authenticate(user, password string) bool {
	return user == "default" && f.password != "" && password == f.password
}

func (f *fakeHost) PasswordSet() bool { return f.password != "" }

func (f *fakeHost) ConfigGet(patterns []string) (found [][2]string) {
	for _, kv := range f.config {
		for _, p := range patterns {
			if Match([]byte(p), []byte(kv[0])) {
				found = append(found, kv)
				break
			}
		}
	}
	return found
}

func (f *fakeHost) ConfigSet(pairs [][2]string) error {
	if pairs[0][0] == "bad" {
		return Error("ERR no")
	}
	f.set = pairs
	return nil
}

func (f *fakeHost) ConfigRewrite() error {
	return Error("ERR The server is running without a config file")
}
func (f *fakeHost) ResetStats()   { f.resets++ }
func (f *fakeHost) PurgeMemory()  { f.purges++ }
func (f *fakeHost) Stats() *Stats { s := f.stats; return &s }

func (f *fakeHost) Shutdown(m ShutdownMode) (func() bool, error) {
	if m.Abort {
		return nil, errors.New("ERR No shutdown in progress.")
	}
	f.stops = append(f.stops, m)
	return func() bool { return f.refused }, nil
}

func (f *fakeHost) Room(bytes int) error {
	if f.room != nil && bytes > *f.room {
		return Error("MISCONF no room")
	}
	return nil
}

func (f *fakeHost) Snapshots() SnapshotView { return f.stats.Snapshot.SnapshotView }

func (f *fakeHost) StartSnapshot(cause SnapshotCause) (int64, error) {
	v := &f.stats.Snapshot.SnapshotView
	if f.startErr != nil {
		return 0, f.startErr
	}
	if v.Running != CauseNone {
		return 0, ErrSnapshotRunning
	}
	v.Running, v.Started = cause, v.Started+1
	return v.Started, nil
}

func (f *fakeHost) ScheduleSnapshot(cause SnapshotCause) { f.scheduled = append(f.scheduled, cause) }
func (f *fakeHost) CancelSnapshot()                      { f.cancels++ }
func (f *fakeHost) UnscheduleSnapshot()                  { f.unscheduled++ }

func (f *fakeHost) SnapshotOver(number int64) (bool, error) {
	return f.overTo >= number, f.overErr
}

func (f *fakeHost) SleepMilli(ms int64)        { f.sleptMS += ms }
func (f *fakeHost) DebugEnabled(*Session) bool { return f.debug }
func (f *fakeHost) UnixMicro() int64           { return hostMilli*1000 + 456 }
func (f *fakeHost) Random64() uint64           { return 4 }
func (f *fakeHost) Durable() wal.LSN           { return f.synced }
func (f *fakeHost) Synced() wal.LSN            { return f.synced }
func (f *fakeHost) Last() wal.LSN              { return f.stats.LastLSN }

// host gives the harness a fake server.
func (h *harness) host() *fakeHost {
	f := &fakeHost{}
	h.ctx.Host = f
	return f
}

// reply runs a command and reads its reply.
func (h *harness) reply(args ...string) any {
	h.t.Helper()
	split := make([][]byte, len(args))
	for i, arg := range args {
		split[i] = []byte(arg)
	}
	h.run(split)
	return h.read()
}

// read is the one reply in the buffer; nil when there is none.
func (h *harness) read() any {
	h.t.Helper()
	if len(h.out.Buf) == 0 {
		return nil
	}
	in := bufio.NewReader(bytes.NewReader(h.out.Buf))
	reply := readReply(h.t, in)
	if _, err := in.Peek(1); err == nil {
		h.t.Fatalf("more than one reply: %q", h.out.Buf)
	}
	return reply
}

// proto switches the session's protocol.
func (h *harness) proto(version int) { h.ctx.setProto(version) }
