package vfs

import (
	"io"
	"io/fs"
)

// sectorBytes is what a disk writes whole or not at all.
const sectorBytes = 512

// oldVersions bounds what is remembered of a sector that is rewritten many
// times between syncs.
const oldVersions = 3

// memNode is a file's content. Mem.mu guards it.
type memNode struct {
	data    []byte             // as a process reads it
	durable []byte             // as the last good Sync left it
	dirty   map[int64][][]byte // sectors written since, with versions in between
	sizes   []int64            // sizes the file had since, the present one excluded
}

func newMemNode() *memNode { return &memNode{dirty: map[int64][][]byte{}} }

func (n *memNode) write(p []byte, off int64) {
	if len(p) == 0 {
		return
	}
	end := off + int64(len(p))
	if end > int64(len(n.data)) {
		n.resize(end)
	}
	n.soil(off, end)
	copy(n.data[off:], p)
}

func (n *memNode) truncate(sizeBytes int64) {
	old := int64(len(n.data))
	if sizeBytes < old {
		n.soil(sizeBytes, old)
	}
	n.resize(sizeBytes)
}

func (n *memNode) resize(sizeBytes int64) {
	n.sizes = append(n.sizes, int64(len(n.data)))
	if len(n.sizes) > oldVersions {
		n.sizes = n.sizes[1:]
	}
	if sizeBytes <= int64(len(n.data)) {
		n.data = n.data[:sizeBytes]
		return
	}
	old := len(n.data)
	n.data = append(n.data, make([]byte, sizeBytes-int64(old))...)
}

// soil marks the sectors of [off, end) as unsynced and keeps what they held.
func (n *memNode) soil(off, end int64) {
	for s := off / sectorBytes; s*sectorBytes < end; s++ {
		versions, already := n.dirty[s]
		if already && len(versions) < oldVersions {
			versions = append(versions, append([]byte(nil), sectorOf(n.data, s)...))
		}
		n.dirty[s] = versions
	}
}

// sectorOf is sector s of data, short or empty at the end of the file.
func sectorOf(data []byte, s int64) []byte {
	from := min(s*sectorBytes, int64(len(data)))
	to := min(from+sectorBytes, int64(len(data)))
	return data[from:to]
}

func (n *memNode) sync() {
	n.durable = resized(n.durable, int64(len(n.data)))
	for s := range n.dirty {
		copy(sectorOf(n.durable, s), sectorOf(n.data, s))
	}
	n.forget()
}

// forget is what a kernel does when a sync fails: pages count as clean though
// the disk never got them, so no later sync writes them.
func (n *memNode) forget() {
	clear(n.dirty)
	n.sizes = n.sizes[:0]
}

func resized(b []byte, sizeBytes int64) []byte {
	if sizeBytes <= int64(len(b)) {
		return b[:sizeBytes:sizeBytes]
	}
	return append(b, make([]byte, sizeBytes-int64(len(b)))...)
}

// memFile is one opening of a node.
type memFile struct {
	m        *Mem
	name     string
	node     *memNode
	closed   bool
	readOnly bool
}

// locked runs f with the file system locked, unless the file is closed.
func (f *memFile) locked(op string, do func()) error {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if f.closed {
		return pathError(op, f.name, fs.ErrClosed)
	}
	do()
	return nil
}

func (f *memFile) ReadAt(p []byte, off int64) (n int, err error) {
	if off < 0 {
		return 0, pathError("read", f.name, fs.ErrInvalid)
	}
	err = f.locked("read", func() {
		if off < int64(len(f.node.data)) {
			n = copy(p, f.node.data[off:])
		}
	})
	if err == nil && n < len(p) {
		err = io.EOF
	}
	return n, err
}

func (f *memFile) WriteAt(p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, pathError("write", f.name, fs.ErrInvalid)
	}
	if f.readOnly {
		return 0, pathError("write", f.name, fs.ErrPermission)
	}
	if err := f.locked("write", func() { f.node.write(p, off) }); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (f *memFile) Truncate(sizeBytes int64) error {
	if sizeBytes < 0 {
		return pathError("truncate", f.name, fs.ErrInvalid)
	}
	if f.readOnly {
		return pathError("truncate", f.name, fs.ErrPermission)
	}
	return f.locked("truncate", func() { f.node.truncate(sizeBytes) })
}

func (f *memFile) Size() (n int64, err error) {
	err = f.locked("size", func() { n = int64(len(f.node.data)) })
	return n, err
}

func (f *memFile) Sync() error { return f.locked("sync", f.node.sync) }

// failSync is called by Faulty in place of Sync when the sync is to fail.
func (f *memFile) failSync() { _ = f.locked("sync", f.node.forget) }

func (f *memFile) Close() error { return f.locked("close", func() { f.closed = true }) }
