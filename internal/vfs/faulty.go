package vfs

import (
	"errors"
	"io"
	"strings"
	"sync"
)

// Op is a set of operations of an FS and its files.
type Op uint16

const (
	OpOpen Op = 1 << iota
	OpCreate
	OpRename
	OpRemove
	OpList
	OpMkdir
	OpSyncDir
	OpLock
	OpRead
	OpWrite
	OpTruncate
	OpSync
	OpSize
	OpClose

	// OpChange is everything that changes what a crash may leave.
	OpChange = OpCreate | OpRename | OpRemove | OpMkdir | OpSyncDir | OpWrite | OpTruncate | OpSync
	OpAny    = OpClose<<1 - 1
)

// ErrHalted is what every operation returns after HaltAfter's last one.
var ErrHalted = errors.New("halted")

// Fault makes calls fail or wait. The zero value of a field does not restrict.
type Fault struct {
	Op     Op     // which operations; 0 is OpAny
	Path   string // only names that contain this
	Nth    int    // the first call that is hit, from 1; 0 is 1
	Sticky bool   // hit every later call too
	Before func() // called first, without locks: may block or count
	// Err fails the call; nil with a Before leaves it whole. A write puts its
	// first ShortBytes in place before it fails, less what is behind the last
	// end of a sector in them: kernels stop writing at the end of a page. A
	// sync loses what it failed to sync, as kernels do.
	Err        error
	ShortBytes int
}

type activeFault struct {
	Fault
	calls int
}

// Faulty wraps an FS and breaks chosen calls. Safe for concurrent use.
type Faulty struct {
	inner FS

	mu      sync.Mutex
	faults  []*activeFault
	changes int // OpChange calls so far
	limit   int // of changes; -1 for none
	full    bool
}

// NewFaulty wraps inner with no faults.
func NewFaulty(inner FS) *Faulty { return &Faulty{inner: inner, limit: -1} }

// Inject adds a fault; its calls are counted from here on.
func (f *Faulty) Inject(fault Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults = append(f.faults, &activeFault{Fault: fault})
}

// Clear removes all faults and the halt.
func (f *Faulty) Clear() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults, f.limit = nil, -1
}

// Full fills the disk or frees room: while it is full, a write that makes a file
// larger fails with ENOSPC, after what is in front of the old end was written.
// Clear does not change it.
func (f *Faulty) Full(full bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.full = full
}

func (f *Faulty) isFull() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.full
}

// HaltAfter lets n more changing calls (OpChange) pass, then every call fails
// with ErrHalted: the machine stopped there.
func (f *Faulty) HaltAfter(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.limit = f.changes + n
}

// Changes is how many changing calls were let through.
func (f *Faulty) Changes() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.changes
}

// check counts the call and returns what is to happen to it.
func (f *Faulty) check(op Op, name string) (short int, err error) {
	f.mu.Lock()
	var hit *activeFault
	for _, a := range f.faults {
		if a.hits(op, name) && hit == nil {
			hit = a
		}
	}
	f.mu.Unlock()
	if hit != nil && hit.Before != nil {
		hit.Before()
	}
	if hit != nil && hit.Err != nil {
		return hit.ShortBytes, hit.Err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.limit >= 0 && f.changes >= f.limit {
		return 0, ErrHalted
	}
	if op&OpChange != 0 {
		f.changes++
	}
	return 0, nil
}

func (a *activeFault) hits(op Op, name string) bool {
	if a.Op != 0 && a.Op&op == 0 || !strings.Contains(name, a.Path) {
		return false
	}
	a.calls++
	nth := max(a.Nth, 1)
	return a.calls == nth || a.Sticky && a.calls > nth
}

// Open implements FS.
func (f *Faulty) Open(name string) (File, error) {
	return f.file(OpOpen, name, f.inner.Open)
}

// OpenRead implements FS. It counts as OpOpen.
func (f *Faulty) OpenRead(name string) (File, error) {
	return f.file(OpOpen, name, f.inner.OpenRead)
}

// Create implements FS.
func (f *Faulty) Create(name string) (File, error) {
	return f.file(OpCreate, name, f.inner.Create)
}

func (f *Faulty) file(op Op, name string, open func(string) (File, error)) (File, error) {
	if _, err := f.check(op, name); err != nil {
		return nil, pathError("open", name, err)
	}
	inner, err := open(name)
	if err != nil {
		return nil, err
	}
	return &faultyFile{f: f, name: name, inner: inner}, nil
}

// Rename implements FS. A fault's path is looked for in the new name.
func (f *Faulty) Rename(from, to string) error {
	if _, err := f.check(OpRename, to); err != nil {
		return pathError("rename", to, err)
	}
	return f.inner.Rename(from, to)
}

// Remove implements FS.
func (f *Faulty) Remove(name string) error {
	if _, err := f.check(OpRemove, name); err != nil {
		return pathError("remove", name, err)
	}
	return f.inner.Remove(name)
}

// List implements FS.
func (f *Faulty) List(dir string) ([]string, error) {
	if _, err := f.check(OpList, dir); err != nil {
		return nil, pathError("list", dir, err)
	}
	return f.inner.List(dir)
}

// MkdirAll implements FS.
func (f *Faulty) MkdirAll(dir string) error {
	if _, err := f.check(OpMkdir, dir); err != nil {
		return pathError("mkdir", dir, err)
	}
	return f.inner.MkdirAll(dir)
}

// SyncDir implements FS.
func (f *Faulty) SyncDir(dir string) error {
	if _, err := f.check(OpSyncDir, dir); err != nil {
		return pathError("syncdir", dir, err)
	}
	return f.inner.SyncDir(dir)
}

// Lock implements FS.
func (f *Faulty) Lock(name string) (io.Closer, error) {
	if _, err := f.check(OpLock, name); err != nil {
		return nil, pathError("lock", name, err)
	}
	return f.inner.Lock(name)
}

type faultyFile struct {
	f     *Faulty
	name  string
	inner File
}

func (x *faultyFile) ReadAt(p []byte, off int64) (int, error) {
	if _, err := x.f.check(OpRead, x.name); err != nil {
		return 0, pathError("read", x.name, err)
	}
	return x.inner.ReadAt(p, off)
}

func (x *faultyFile) WriteAt(p []byte, off int64) (int, error) {
	short, err := x.f.check(OpWrite, x.name)
	if err == nil && x.f.isFull() {
		size, sizeErr := x.inner.Size()
		if sizeErr != nil {
			return 0, sizeErr
		}
		if room := size - off; room < int64(len(p)) {
			short, err = int(max(room, 0)), errNoSpace
		}
	}
	if err == nil {
		return x.inner.WriteAt(p, off)
	}
	n := 0
	if short = wholeSectors(short, len(p), off); short > 0 {
		n, _ = x.inner.WriteAt(p[:short], off)
	}
	return n, pathError("write", x.name, err)
}

// wholeSectors is how much of size bytes at off a write that fails after short
// bytes has put in place.
func wholeSectors(short, size int, off int64) int {
	if short = min(short, size); short < size {
		short -= int((off + int64(short)) % sectorBytes)
	}
	return short
}

func (x *faultyFile) Truncate(sizeBytes int64) error {
	if _, err := x.f.check(OpTruncate, x.name); err != nil {
		return pathError("truncate", x.name, err)
	}
	return x.inner.Truncate(sizeBytes)
}

func (x *faultyFile) Sync() error {
	_, err := x.f.check(OpSync, x.name)
	if err == nil {
		return x.inner.Sync()
	}
	if m, ok := x.inner.(*memFile); ok && !errors.Is(err, ErrHalted) {
		m.failSync()
	}
	return pathError("sync", x.name, err)
}

func (x *faultyFile) Size() (int64, error) {
	if _, err := x.f.check(OpSize, x.name); err != nil {
		return 0, pathError("size", x.name, err)
	}
	return x.inner.Size()
}

func (x *faultyFile) Close() error {
	_, err := x.f.check(OpClose, x.name)
	closed := x.inner.Close()
	if err != nil {
		return pathError("close", x.name, err)
	}
	return closed
}
