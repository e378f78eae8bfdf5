package shard

import (
	"encoding/binary"
	"fmt"
	"os"
	"strconv"
	"testing"

	"github.com/hapaxkv/hapax/internal/wal"
)

// nullLog is a log that costs nothing, so that a benchmark shows the store.
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
var benchSizes = []int{1_000_000, 10_000_000}

// benchKey is a key of 14 bytes.
func benchKey(dst []byte, i int) []byte {
	return fmt.Appendf(dst[:0], "key:%010d", i)
}

var benchStores = map[string]*Store{}

// benchStore makes a store of n keys once per process.
func benchStore(b *testing.B, n, valueBytes int, deadline int64) *Store {
	name := fmt.Sprint(n, valueBytes, deadline)
	s := benchStores[name]
	if s == nil {
		for k, old := range benchStores {
			old.Close()
			delete(benchStores, k)
		}
		s = NewStore(Options{Shards: 1, Databases: 16, Log: new(nullLog)})
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

// shuffled walks over n keys in an order that caches cannot follow.
func shuffled(i, n int) int { return int(uint64(i) * 0x9E3779B97F4A7C15 % uint64(n)) }

func benchKeys(b *testing.B, run func(b *testing.B, s *Store, n int)) {
	for _, n := range benchSizes {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			if testing.Short() && n > 1_000_000 {
				b.Skip("-short")
			}
			run(b, benchStore(b, n, 107, start+1e9), n)
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

// BenchmarkInsert fills an empty store, and reports what a key takes of
// resident memory and of UsedBytes. Run it with -benchtime 10000000x.
func BenchmarkInsert(b *testing.B) {
	for _, c := range []struct {
		name       string
		valueBytes int
		deadline   int64
	}{{"107+deadline", 107, start + 1e9}, {"32", 32, 0}} {
		b.Run(c.name, func(b *testing.B) {
			for k, old := range benchStores {
				old.Close()
				delete(benchStores, k)
			}
			before := residentBytes(b)
			s := NewStore(Options{Shards: 1, Databases: 16, Log: new(nullLog)})
			defer s.Close()
			tx := s.NewTx()
			keys := make([]Key, 1)
			var buf []byte
			value := make([]byte, c.valueBytes)
			b.ResetTimer()
			for i := range b.N {
				buf = benchKey(buf, i)
				keys[0] = MakeKey(buf)
				tx.Begin(start, 0)
				tx.LockKeys(keys)
				if err := tx.Put(&keys[0], Value{Bytes: value, DeadlineMilli: c.deadline}); err != nil {
					b.Fatal(err)
				}
				tx.End()
			}
			b.ReportMetric(float64(residentBytes(b)-before)/float64(b.N), "resident-B/key")
			b.ReportMetric(float64(s.UsedBytes())/float64(b.N), "used-B/key")
		})
	}
}
