package server

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hapaxkv/hapax/internal/vfs"
	"github.com/hapaxkv/hapax/internal/wal"
)

func TestPlaceOfTheSync(t *testing.T) {
	auto := &Tunables{SyncPlace: "auto", SyncThresholdMicro: 300}
	var p placeChooser
	p.crowd = crowdUnit
	require.True(t, p.inLoop(auto, 0))
	require.True(t, p.inLoop(auto, 370), "a little over changes nothing")
	require.False(t, p.inLoop(auto, 380))
	require.False(t, p.inLoop(auto, 290), "a little under neither")
	require.True(t, p.inLoop(auto, 220))

	p.crowd = 0
	require.True(t, p.inLoop(auto, 1100), "nobody is stalled")
	require.True(t, p.inLoop(auto, 1490))
	require.False(t, p.inLoop(auto, 1510), "so slow that the hand-over is nothing")
	require.False(t, p.inLoop(auto, 950))
	require.True(t, p.inLoop(auto, 890))

	require.True(t, p.inLoop(&Tunables{SyncPlace: "loop"}, 5000))
	require.False(t, p.inLoop(&Tunables{SyncPlace: "syncer"}, 1))
	require.True(t, p.inLoop(&Tunables{SyncPlace: "auto", Fsync: wal.EverySec, SyncThresholdMicro: 300}, 5000),
		"there is no sync to wait for")
}

// commits tells p of commits, each with so many bystanders of its own, until
// the place is the other one; it gives up after limit.
func commits(p *placeChooser, each, limit int) (place string, n int) {
	auto := &Tunables{SyncPlace: "auto", SyncThresholdMicro: 300}
	was := p.inLoop(auto, 500)
	for n = 1; n <= limit; n++ {
		p.began()
		for range each {
			p.saw(p.commit - 1)
		}
		p.ended()
		if p.inLoop(auto, 500) != was {
			break
		}
	}
	if p.onSyncer {
		return "syncer", n
	}
	return "loop", n
}

func TestBystandersMoveTheSync(t *testing.T) {
	var p placeChooser
	place, _ := commits(&p, 0, 1000)
	require.Equal(t, "loop", place, "writers alone")

	for range 20 { // a client that says something now and then
		place, _ = commits(&p, 1, 5)
		require.Equal(t, "loop", place)
		commits(&p, 0, 500)
	}

	place, n := commits(&p, 1, 100)
	require.Equal(t, "syncer", place, "a reader beside each commit")
	require.Less(t, n, 20)
	place, n = commits(&p, 0, 1000)
	require.Equal(t, "loop", place, "it went away")
	require.Less(t, n, 100)

	place, n = commits(&p, 50, 100)
	require.Equal(t, "syncer", place)
	require.Less(t, n, 5, "many readers are noticed sooner")
	place, _ = commits(&p, 1, 1000)
	require.Equal(t, "syncer", place)
	place, n = commits(&p, 0, 1000)
	require.Equal(t, "loop", place)
	require.Less(t, n, 200, "and forgotten as soon")
}

// One connection is one bystander of a commit, however much it says.
func TestBystanderIsCountedOnce(t *testing.T) {
	var p placeChooser
	p.began()
	last := p.saw(0)
	require.EqualValues(t, 1, p.bystanders)
	last = p.saw(last)
	require.EqualValues(t, 1, p.bystanders)
	p.began()
	require.EqualValues(t, 0, p.bystanders)
	p.saw(last)
	require.EqualValues(t, 1, p.bystanders)
}

// slowDisk makes each sync of the log take so long.
func (l *lab) slowDisk(d time.Duration) {
	l.fs.Inject(vfs.Fault{Op: vfs.OpSync, Path: "wal", Sticky: true, Before: func() { time.Sleep(d) }})
}

func (l *lab) syncPlace() string { return (*l.srv.backend.Load()).syncPlace() }

// In auto the place follows the measured latency, and comes back.
func TestAutoPlaceFollowsTheDisk(t *testing.T) {
	if !loopsAvailable {
		t.Skip("needs the epoll loop")
	}
	t.Parallel()
	l := serve(t, variant{"epoll", 1}, tuned(func(t *Tunables) { t.SyncPlace, t.SyncThresholdMicro = "auto", 1<<40 }))
	p := l.dial()
	write := func() string {
		require.Equal(t, "+OK", p.do("SET", "a", "1"))
		return l.syncPlace()
	}
	require.Equal(t, "loop", write())
	l.srv.Retune(Tunables{SyncPlace: "auto", SyncThresholdMicro: 1}) // any disk is slower
	eventually(t, "syncer", func() bool { return write() == "syncer" })
	require.Contains(t, p.do("INFO", "hapax"), "syncer")
	l.srv.Retune(Tunables{SyncPlace: "auto", SyncThresholdMicro: 1 << 40})
	eventually(t, "loop", func() bool { return write() == "loop" })
}

// On a disk somewhat slower than the threshold the place follows who is there:
// writers alone keep the loop to themselves, readers beside them move it.
func TestAutoPlaceFollowsTheClients(t *testing.T) {
	if !loopsAvailable {
		t.Skip("needs the epoll loop")
	}
	t.Parallel()
	const thresholdMicro, syncTime = 10_000, 15 * time.Millisecond // and 40 ms would be far too slow
	l := serve(t, variant{"epoll", 1}, tuned(func(t *Tunables) {
		t.SyncPlace, t.SyncThresholdMicro = "auto", thresholdMicro
	}))
	l.slowDisk(syncTime)
	var done repeaters
	defer done.end()
	for _, key := range []string{"a", "b", "c"} {
		done.repeat(l.dial(), "SET", key, "1")
	}
	eventually(t, "the disk is known", func() bool { return l.eng.Log().SyncLatencyMicro() > thresholdMicro*5/4 })
	at := l.eng.Log().Stats().Syncs
	eventually(t, "many commits later", func() bool { return l.eng.Log().Stats().Syncs > at+2*crowdWeight })
	require.Equal(t, "loop", l.syncPlace(), "writers wait for the commit anyway")

	var readers repeaters
	for range 3 {
		readers.repeat(l.dial(), "GET", "x")
	}
	eventually(t, "readers are not to be stalled", func() bool { return l.syncPlace() == "syncer" })
	at = l.eng.Log().Stats().Syncs
	eventually(t, "many commits later", func() bool { return l.eng.Log().Stats().Syncs > at+2*crowdWeight })
	require.Equal(t, "syncer", l.syncPlace(), "they are still there")
	readers.end()
	eventually(t, "writers alone again", func() bool { return l.syncPlace() == "loop" })
}

// repeaters is clients that repeat a command until they are told to end.
type repeaters struct {
	all  sync.WaitGroup
	over atomic.Bool
}

func (r *repeaters) repeat(p *peer, args ...string) {
	r.all.Go(func() {
		for !r.over.Load() {
			p.do(args...)
		}
	})
}

func (r *repeaters) end() {
	r.over.Store(true)
	r.all.Wait()
}

// Whatever clients send while a sync is under way shares one, wherever it runs.
func TestOneSyncPerRound(t *testing.T) {
	if !loopsAvailable {
		t.Skip("needs the epoll loop")
	}
	for _, place := range []string{"loop", "syncer"} {
		t.Run(place, func(t *testing.T) {
			t.Parallel()
			l := serve(t, variant{"epoll", 1}, tuned(func(t *Tunables) { t.SyncPlace = place }))
			peers := make([]*peer, 20)
			for i := range peers {
				peers[i] = l.dial()
				require.Equal(t, "+PONG", peers[i].do("PING"))
			}
			before := l.eng.Log().Stats()
			entered, release := l.slowSync()
			peers[0].send(wire("SET", "a", "1"))
			<-entered
			for _, p := range peers[1:] { // in their sockets now, or even appended
				p.send(wire("SET", "a", "2") + wire("SET", "b", "3") + wire("IDEM", "c", "BEGIN", "fp", "me", "60000"))
			}
			if place == "syncer" {
				eventually(t, "all wait", func() bool { return (*l.srv.backend.Load()).parked() == int64(len(peers)) })
			}
			release()
			peers[0].expect("+OK\r\n")
			for _, p := range peers[1:] {
				p.expect("+OK\r\n+OK\r\n")
				require.Contains(t, p.reply(), "[")
			}
			after := l.eng.Log().Stats()
			require.EqualValues(t, 2, after.Syncs-before.Syncs)
			require.EqualValues(t, 2, after.Frames-before.Frames)
		})
	}
}
