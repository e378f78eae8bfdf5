package shard

import (
	"encoding/binary"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/hapaxkv/hapax/internal/wal"
)

// nullLog encodes records and forgets them.
type nullLog struct {
	buf  []byte
	last wal.LSN
	t    int64
}

func (l *nullLog) Lock()                    {}
func (l *nullLog) Unlock()                  {}
func (l *nullLog) Next(tMilli int64) []byte { l.t = tMilli; return l.buf[:0] }
func (l *nullLog) Done(buf []byte) wal.LSN  { l.buf = buf; l.last++; return l.last }
func (l *nullLog) Last() wal.LSN            { return l.last }
func (l *nullLog) LastT() int64             { return l.t }

// benchSizes are the numbers of keys that benchmarks run with.
var benchSizes = []int{1000, 1_000_000, 10_000_000}

// benchKey is a key of 14 bytes; fmt would take longer than a lookup.
func benchKey(dst []byte, i int) []byte {
	dst = append(dst[:0], "key:0000000000"...)
	for at := len(dst) - 1; i > 0; at-- {
		dst[at] = byte('0' + i%10)
		i /= 10
	}
	return dst
}

var benchStores = map[string]*Store{}

func dropBenchStores() {
	for name, s := range benchStores {
		s.Close()
		delete(benchStores, name)
	}
}

// benchStore makes a store of n keys once per process.
func benchStore(b *testing.B, n, valueBytes int, deadline int64) *Store {
	name := fmt.Sprint(n, valueBytes, deadline)
	s := benchStores[name]
	if s == nil {
		dropBenchStores()
		s = NewStore(Options{Shards: 1, Databases: 16, Log: &nullLog{buf: []byte{}}})
		benchStores[name] = s
		tx := s.NewTx()
		value := make([]byte, valueBytes)
		var key []byte
		for i := range n {
			key = benchKey(key, i)
			k := [1]Key{MakeKey(key)}
			tx.Begin(start, 0)
			tx.LockKeys(k[:])
			if err := tx.Put(&k[0], Value{Bytes: value, DeadlineMilli: deadline}); err != nil {
				b.Fatal(err)
			}
			tx.End()
		}
	}
	return s
}

// threadNano is the processor time of the calling thread: unlike the wall
// clock it means something on a machine that others use.
func threadNano() int64 {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t) != nil {
		return 0
	}
	return t.Nano()
}

// reportCPU reports the processor time per operation of the rest of b.
func reportCPU(b *testing.B) func() {
	runtime.LockOSThread()
	began := threadNano()
	return func() {
		b.ReportMetric(float64(threadNano()-began)/float64(b.N), "cpu-ns/op")
		runtime.UnlockOSThread()
	}
}

// shuffled walks over n keys in an order that caches cannot follow.
func shuffled(i, n int) int { return int(uint64(i) * 0x9E3779B97F4A7C15 % uint64(n)) }

func benchKeys(b *testing.B, run func(b *testing.B, s *Store, n int)) {
	for _, n := range benchSizes {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			if testing.Short() && n > 1_000_000 {
				b.Skip("-short")
			}
			s := benchStore(b, n, 107, start+1e9)
			defer reportCPU(b)()
			run(b, s, n)
		})
	}
}

func BenchmarkGet(b *testing.B) {
	benchKeys(b, func(b *testing.B, s *Store, n int) {
		tx := s.NewTx()
		keys := make([]Key, 1)
		var buf []byte
		i := 0
		for b.Loop() {
			buf = benchKey(buf, shuffled(i, n))
			i++
			keys[0] = MakeKey(buf)
			tx.Begin(start, 0)
			tx.LockKeys(keys)
			if _, ok := tx.Get(&keys[0]); !ok {
				b.Fatal("lost a key")
			}
			tx.End()
		}
	})
}

// BenchmarkGetBatch looks 16 keys up that were prefetched together.
func BenchmarkGetBatch(b *testing.B) {
	benchKeys(b, func(b *testing.B, s *Store, n int) {
		tx := s.NewTx()
		const batch = 16
		keys := make([]Key, batch)
		bufs := make([][]byte, batch)
		for i := 0; b.Loop(); i++ {
			if i%batch == 0 {
				for j := range keys {
					bufs[j] = benchKey(bufs[j], shuffled(i+j, n))
					keys[j] = MakeKey(bufs[j])
				}
				tx.Prefetch(0, keys)
			}
			tx.Begin(start, 0)
			tx.LockKeys(keys[i%batch : i%batch+1])
			if _, ok := tx.Get(&keys[i%batch]); !ok {
				b.Fatal("lost a key")
			}
			tx.End()
		}
	})
}

func BenchmarkSetExisting(b *testing.B) {
	benchKeys(b, func(b *testing.B, s *Store, n int) {
		tx := s.NewTx()
		keys := make([]Key, 1)
		var buf []byte
		value := make([]byte, 107)
		i := 0
		for b.Loop() {
			buf = benchKey(buf, shuffled(i, n))
			i++
			keys[0] = MakeKey(buf)
			tx.Begin(start, 0)
			tx.LockKeys(keys)
			if err := tx.Put(&keys[0], Value{Bytes: value, DeadlineMilli: start + 1e9}); err != nil {
				b.Fatal(err)
			}
			tx.End()
		}
	})
}

// BenchmarkKeyOverhead is what the other benchmarks spend on making keys.
func BenchmarkKeyOverhead(b *testing.B) {
	var buf []byte
	sum := uint64(0)
	i := 0
	for b.Loop() {
		buf = benchKey(buf, shuffled(i, 1_000_000))
		i++
		sum += MakeKey(buf).Hash
	}
}

func BenchmarkHash(b *testing.B) {
	for _, n := range []int{4, 14, 40, 1000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			key := make([]byte, n)
			sum := uint64(0)
			for b.Loop() {
				sum += hashKey(key)
			}
			binary.LittleEndian.PutUint64(make([]byte, 8), sum)
		})
	}
}

// residentBytes is the process's resident memory.
func residentBytes(b *testing.B) int64 {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		b.Skip("no /proc/self/statm")
	}
	var size, resident int64
	fmt.Sscan(string(text), &size, &resident)
	return resident * int64(os.Getpagesize())
}

// fill inserts b.N keys into an empty store and calls after behind each.
func fill(b *testing.B, s *Store, valueBytes int, deadline int64, after func()) {
	tx := s.NewTx()
	keys := make([]Key, 1)
	var buf []byte
	value := make([]byte, valueBytes)
	for i := range b.N {
		buf = benchKey(buf, i)
		keys[0] = MakeKey(buf)
		tx.Begin(start, 0)
		tx.LockKeys(keys)
		if err := tx.Put(&keys[0], Value{Bytes: value, DeadlineMilli: deadline}); err != nil {
			b.Fatal(err)
		}
		tx.End()
		after()
	}
}

// BenchmarkInsert fills an empty store and reports what a key takes of
// resident memory and of UsedBytes. Run it with -benchtime 10000000x.
func BenchmarkInsert(b *testing.B) {
	for _, c := range []struct {
		name       string
		valueBytes int
		deadline   int64
	}{{"107+deadline", 107, start + 1e9}, {"32", 32, 0}} {
		b.Run(c.name, func(b *testing.B) {
			dropBenchStores()
			before := residentBytes(b)
			s := NewStore(Options{Shards: 1, Databases: 16, Log: &nullLog{buf: []byte{}}})
			defer s.Close()
			report := reportCPU(b)
			fill(b, s, c.valueBytes, c.deadline, func() {})
			report()
			b.ReportMetric(float64(residentBytes(b)-before)/float64(b.N), "resident-B/key")
			b.ReportMetric(float64(s.UsedBytes())/float64(b.N), "used-B/key")
		})
	}
}

// BenchmarkInsertPause reports the longest insert while a store grows, in
// processor time, and how many took over half a millisecond.
func BenchmarkInsertPause(b *testing.B) {
	dropBenchStores()
	s := NewStore(Options{Shards: 1, Databases: 16, Log: &nullLog{buf: []byte{}}})
	defer s.Close()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	worst, slow, mark := int64(0), 0, threadNano()
	fill(b, s, 107, start+1e9, func() {
		now := threadNano()
		worst = max(worst, now-mark)
		if now-mark > 500_000 {
			slow++
		}
		mark = now
	})
	b.ReportMetric(float64(worst)/1e6, "worst-ms")
	b.ReportMetric(float64(slow), "over-0.5ms")
}
