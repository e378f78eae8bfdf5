package vfs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// directBlockBytes is what file systems allocate by: a smaller piece would be
// read by the disk, changed and written again. Larger only where it must be.
const directBlockBytes = 4096

type osDirect struct {
	f     *os.File
	block int
}

// OpenDirect implements FS.
func (osFS) OpenDirect(name string) (DirectFile, error) {
	f, err := os.OpenFile(filepath.FromSlash(name), os.O_WRONLY|unix.O_DIRECT, 0)
	if err != nil {
		return nil, err
	}
	block, err := directBlock(f)
	if err != nil {
		return nil, errors.Join(&fs.PathError{Op: "open", Path: name, Err: err}, f.Close())
	}
	return &osDirect{f, block}, nil
}

// directBlock asks what the file wants its writes aligned to. Kernels before
// Linux 6.1 don't tell: then the usual is tried.
func directBlock(f *os.File) (int, error) {
	var st unix.Statx_t
	err := unix.Statx(int(f.Fd()), "", unix.AT_EMPTY_PATH, unix.STATX_DIOALIGN, &st)
	if err != nil || st.Mask&unix.STATX_DIOALIGN == 0 {
		return directBlockBytes, nil
	}
	offset, memory := st.Dio_offset_align, st.Dio_mem_align
	if offset == 0 || memory == 0 {
		return 0, errors.ErrUnsupported
	}
	block := max(directBlockBytes, int(offset), int(memory))
	if block&(block-1) != 0 {
		return 0, fmt.Errorf("blocks of %d bytes: %w", block, errors.ErrUnsupported)
	}
	return block, nil
}

func (d *osDirect) BlockBytes() int { return d.block }

// WriteBlocks asks for the sync with the write, so that a disk that can write
// past its own cache is asked once and not twice.
func (d *osDirect) WriteBlocks(p []byte, off int64, durable bool) error {
	flags := 0
	if durable {
		flags = unix.RWF_DSYNC
	}
	for len(p) > 0 {
		n, err := unix.Pwritev2(int(d.f.Fd()), [][]byte{p}, off, flags)
		switch {
		case errors.Is(err, unix.EINTR): // before anything was tried
			continue
		case err == nil && (n <= 0 || n%d.block != 0):
			err = io.ErrShortWrite
		}
		if err != nil {
			return &fs.PathError{Op: "pwritev2", Path: d.f.Name(), Err: err}
		}
		p, off = p[n:], off+int64(n)
	}
	return nil
}

func (d *osDirect) Close() error { return d.f.Close() }
