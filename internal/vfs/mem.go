package vfs

import (
	"fmt"
	"io"
	"io/fs"
	"path"
	"sort"
	"sync"
)

// Mem is a file system in memory for tests. It remembers what a power cut may
// lose, see Crash and Kill. Safe for concurrent use.
type Mem struct {
	mu      sync.Mutex
	dirs    map[string]bool
	names   map[string]*memNode // as a running process sees them
	durable map[string]*memNode // as after a power cut that keeps nothing more
	pending []nameChange        // what leads from durable to names, in order
	locks   map[string]*memLock

	// DirectBlockBytes is what direct writes are aligned to, whole sectors; 0,
	// as with many file systems, when there are none. Set it before use.
	DirectBlockBytes int
}

// nameChange is one creation, renaming or removal that no SyncDir has covered.
type nameChange struct {
	from, to string // creation: from is ""; removal: to is ""
	node     *memNode
}

// NewMem makes an empty file system with a root directory.
func NewMem() *Mem {
	return &Mem{
		dirs:    map[string]bool{"/": true, ".": true},
		names:   map[string]*memNode{},
		durable: map[string]*memNode{},
		locks:   map[string]*memLock{},
	}
}

func pathError(op, name string, err error) error {
	return &fs.PathError{Op: op, Path: name, Err: err}
}

// Open implements FS.
func (m *Mem) Open(name string) (File, error) {
	name = path.Clean(name)
	m.mu.Lock()
	defer m.mu.Unlock()
	node := m.names[name]
	if node == nil {
		return nil, pathError("open", name, fs.ErrNotExist)
	}
	return &memFile{m: m, name: name, node: node}, nil
}

// OpenRead implements FS.
func (m *Mem) OpenRead(name string) (File, error) {
	f, err := m.Open(name)
	if err != nil {
		return nil, err
	}
	f.(*memFile).readOnly = true
	return f, nil
}

// Create implements FS.
func (m *Mem) Create(name string) (File, error) {
	name = path.Clean(name)
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.dirs[path.Dir(name)] {
		return nil, pathError("create", name, fs.ErrNotExist)
	}
	if m.dirs[name] {
		return nil, pathError("create", name, fs.ErrExist)
	}
	node := m.names[name]
	if node == nil {
		node = newMemNode()
		m.change(nameChange{to: name, node: node})
	} else {
		node.truncate(0)
	}
	return &memFile{m: m, name: name, node: node}, nil
}

// Rename implements FS.
func (m *Mem) Rename(from, to string) error {
	from, to = path.Clean(from), path.Clean(to)
	m.mu.Lock()
	defer m.mu.Unlock()
	node := m.names[from]
	if node == nil || !m.dirs[path.Dir(to)] {
		return pathError("rename", from, fs.ErrNotExist)
	}
	m.change(nameChange{from: from, to: to, node: node})
	return nil
}

// Remove implements FS.
func (m *Mem) Remove(name string) error {
	name = path.Clean(name)
	m.mu.Lock()
	defer m.mu.Unlock()
	node := m.names[name]
	if node == nil {
		return pathError("remove", name, fs.ErrNotExist)
	}
	m.change(nameChange{from: name, node: node})
	return nil
}

// change does c now and remembers that a power cut may undo it.
func (m *Mem) change(c nameChange) {
	c.applyTo(m.names)
	m.pending = append(m.pending, c)
}

// applyTo does c on names. A crash may have lost an earlier change, so nothing
// is assumed of what names holds.
func (c nameChange) applyTo(names map[string]*memNode) {
	if c.to == "" {
		if names[c.from] == c.node {
			delete(names, c.from)
		}
		return
	}
	for name, node := range names {
		if node == c.node {
			delete(names, name)
		}
	}
	names[c.to] = c.node
}

// List implements FS.
func (m *Mem) List(dir string) ([]string, error) {
	dir = path.Clean(dir)
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.dirs[dir] {
		return nil, pathError("list", dir, fs.ErrNotExist)
	}
	var found []string
	for name := range m.names {
		if path.Dir(name) == dir {
			found = append(found, path.Base(name))
		}
	}
	for name := range m.dirs {
		if path.Dir(name) == dir && name != dir {
			found = append(found, path.Base(name))
		}
	}
	sort.Strings(found)
	return found, nil
}

// MkdirAll implements FS.
func (m *Mem) MkdirAll(dir string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for d := path.Clean(dir); !m.dirs[d]; d = path.Dir(d) {
		if m.names[d] != nil {
			return pathError("mkdir", d, fs.ErrExist)
		}
		m.dirs[d] = true
	}
	return nil
}

// SyncDir implements FS.
func (m *Mem) SyncDir(dir string) error {
	dir = path.Clean(dir)
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.dirs[dir] {
		return pathError("syncdir", dir, fs.ErrNotExist)
	}
	rest := m.pending[:0]
	for _, c := range m.pending {
		if c.touches(dir) {
			c.applyTo(m.durable)
		} else {
			rest = append(rest, c)
		}
	}
	m.pending = rest
	return nil
}

func (c nameChange) touches(dir string) bool {
	return c.from != "" && path.Dir(c.from) == dir || c.to != "" && path.Dir(c.to) == dir
}

type memLock struct {
	m    *Mem
	name string
}

// Lock implements FS.
func (m *Mem) Lock(name string) (io.Closer, error) {
	name = path.Clean(name)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.locks[name] != nil {
		return nil, pathError("lock", name, ErrLocked)
	}
	l := &memLock{m: m, name: name}
	m.locks[name] = l
	return l, nil
}

func (l *memLock) Close() error {
	l.m.mu.Lock()
	defer l.m.mu.Unlock()
	if l.m.locks[l.name] != l {
		return fmt.Errorf("unlock %s: %w", l.name, fs.ErrClosed)
	}
	delete(l.m.locks, l.name)
	return nil
}
