package vfs

import "errors"

// OpenDirect implements FS. It counts as OpOpen.
func (f *Faulty) OpenDirect(name string) (DirectFile, error) {
	if _, err := f.check(OpOpen, name); err != nil {
		return nil, pathError("open", name, err)
	}
	inner, err := f.inner.OpenDirect(name)
	if err != nil {
		return nil, err
	}
	return &faultyDirect{f: f, name: name, inner: inner}, nil
}

type faultyDirect struct {
	f     *Faulty
	name  string
	inner DirectFile
}

func (x *faultyDirect) BlockBytes() int { return x.inner.BlockBytes() }

// WriteBlocks counts as OpWrite and, when it is to be durable, as OpSync after
// that: the machine may stop between the two.
func (x *faultyDirect) WriteBlocks(p []byte, off int64, durable bool) error {
	short, err := x.f.check(OpWrite, x.name)
	if err != nil {
		short = wholeSectors(short, len(p), off) / x.inner.BlockBytes() * x.inner.BlockBytes()
		if short > 0 {
			_ = x.inner.WriteBlocks(p[:short], off, false) // the error that counts is err
		}
		return pathError("write", x.name, err)
	}
	if !durable {
		return x.inner.WriteBlocks(p, off, false)
	}
	m, ok := x.inner.(*memDirect)
	if !ok { // a disk of which nothing can be taken back
		if _, err := x.f.check(OpSync, x.name); err != nil {
			return pathError("write", x.name, err)
		}
		return x.inner.WriteBlocks(p, off, true)
	}
	if err := m.write(p, off); err != nil {
		return err
	}
	if _, err := x.f.check(OpSync, x.name); err != nil {
		if !errors.Is(err, ErrHalted) {
			m.failSync()
		}
		return pathError("write", x.name, err)
	}
	return m.settle(p, off)
}

func (x *faultyDirect) Close() error {
	_, err := x.f.check(OpClose, x.name)
	closed := x.inner.Close()
	if err != nil {
		return pathError("close", x.name, err)
	}
	return closed
}
