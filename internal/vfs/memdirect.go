package vfs

import (
	"errors"
	"io/fs"
	"slices"
)

// memDirect is one opening of a node for direct writes.
type memDirect struct {
	memFile
	block int
}

// OpenDirect implements FS. It is unsupported while DirectBlockBytes is 0.
func (m *Mem) OpenDirect(name string) (DirectFile, error) {
	if m.DirectBlockBytes == 0 {
		return nil, pathError("open", name, errors.ErrUnsupported)
	}
	f, err := m.Open(name)
	if err != nil {
		return nil, err
	}
	return &memDirect{*f.(*memFile), m.DirectBlockBytes}, nil
}

// BlockBytes implements DirectFile.
func (d *memDirect) BlockBytes() int { return d.block }

// WriteBlocks implements DirectFile. A disk may be lenient with those who keep
// its rules only by chance; this one is not.
func (d *memDirect) WriteBlocks(p []byte, off int64, durable bool) error {
	err := d.write(p, off)
	if err == nil && durable {
		err = d.settle(p, off)
	}
	return err
}

// write puts p where a crash may still lose it.
func (d *memDirect) write(p []byte, off int64) (err error) {
	if off < 0 || !aligned(p, off, d.block) {
		return pathError("write", d.name, fs.ErrInvalid)
	}
	closed := d.locked("write", func() {
		if off+int64(len(p)) > int64(len(d.node.data)) {
			err = pathError("write", d.name, fs.ErrInvalid)
			return
		}
		d.node.write(p, off)
	})
	return errors.Join(err, closed)
}

// settle makes p, which was written at off, durable.
func (d *memDirect) settle(p []byte, off int64) error {
	return d.locked("write", func() { d.node.syncRange(off, off+int64(len(p))) })
}

// syncRange makes the sectors of [off, end) durable, which are within the file.
func (n *memNode) syncRange(off, end int64) {
	n.durable = resized(n.durable, max(end, int64(len(n.durable))))
	copy(n.durable[off:end], n.data[off:end])
	for s := off / sectorBytes; s*sectorBytes < end; s++ {
		delete(n.dirty, s)
	}
	// A crash cannot make the file smaller than what is on disk of it.
	n.sizes = slices.DeleteFunc(n.sizes, func(s int64) bool { return s < end })
}
