package vfs_test

import (
	"bytes"
	"errors"
	"io/fs"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hapaxkv/hapax/internal/vfs"
)

const block = 1024

func directMem() *vfs.Mem {
	mem := vfs.NewMem()
	mem.DirectBlockBytes = block
	return mem
}

// blocks is n aligned blocks of c.
func blocks(n, size int, c byte) []byte {
	b := vfs.AlignedBuffer(n*size, size)
	for i := range b {
		b[i] = c
	}
	return b
}

// What is written directly is read through the other handle, and the other way
// round.
func TestDirectContract(t *testing.T) {
	t.Parallel()
	f := func(name string, fsys vfs.FS, dir string) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.NoError(t, fsys.MkdirAll(dir))
			f, err := fsys.Create(dir + "/f")
			require.NoError(t, err)
			_, err = fsys.OpenDirect(dir + "/none")
			require.ErrorIs(t, err, fs.ErrNotExist)
			d, err := fsys.OpenDirect(dir + "/f")
			if vfs.IsUnsupported(err) {
				t.Skip(err)
			}
			require.NoError(t, err)
			size := d.BlockBytes()
			_, err = f.WriteAt(bytes.Repeat([]byte("."), 4*size), 0)
			require.NoError(t, err)
			require.NoError(t, d.WriteBlocks(blocks(2, size, 'd'), int64(size), true))
			_, err = f.WriteAt([]byte("buffered"), int64(size)-4)
			require.NoError(t, err)
			require.NoError(t, d.WriteBlocks(blocks(1, size, 'e'), 2*int64(size), false))
			got := make([]byte, 4*size)
			_, err = f.ReadAt(got, 0)
			require.NoError(t, err)
			want := bytes.Repeat([]byte("."), 4*size)
			copy(want[size:], blocks(1, size, 'd'))
			copy(want[2*size:], blocks(1, size, 'e'))
			copy(want[size-4:], "buffered")
			require.Equal(t, string(want), string(got))
			require.NoError(t, f.Sync())
			require.NoError(t, f.Close())
			require.NoError(t, d.Close())
			require.Error(t, d.WriteBlocks(blocks(1, size, 'x'), 0, true), "closed")
		})
	}
	f("os", vfs.OS(), t.TempDir())
	f("mem", directMem(), "/root")
	f("faulty", vfs.NewFaulty(directMem()), "/root")
}

func TestDirectWritesNeedWholeBlocksWithinTheFile(t *testing.T) {
	t.Parallel()
	mem := directMem()
	f := put(t, mem, "f", string(make([]byte, 4*block)))
	require.NoError(t, f.Sync())
	d, err := mem.OpenDirect("f")
	require.NoError(t, err)
	b := blocks(2, block, 'x')
	require.NoError(t, d.WriteBlocks(b, 2*block, true))
	require.ErrorIs(t, d.WriteBlocks(b, 3*block, true), fs.ErrInvalid, "behind the end")
	require.ErrorIs(t, d.WriteBlocks(b, 100, true), fs.ErrInvalid)
	require.ErrorIs(t, d.WriteBlocks(b[:block+512], 0, true), fs.ErrInvalid)
	require.ErrorIs(t, d.WriteBlocks(b[512:block+512], 0, true), fs.ErrInvalid)
	require.Equal(t, 2*block, bytes.Count(bytesOf(t, mem, "f"), []byte("x")))

	_, err = vfs.NewMem().OpenDirect("f")
	require.True(t, vfs.IsUnsupported(err))
	_, err = vfs.ReadOnly().OpenDirect("f")
	require.ErrorIs(t, err, syscall.EROFS)
	require.False(t, vfs.IsUnsupported(err))
	require.False(t, vfs.IsUnsupported(fs.ErrInvalid), "a mistake is not to be hidden")
}

// A durable direct write is durable by itself, and nothing else is with it.
func TestDirectWriteSyncsItselfAlone(t *testing.T) {
	t.Parallel()
	lost, torn := 0, 0
	for seed := range uint64(60) {
		mem := directMem()
		f := put(t, mem, "f", string(make([]byte, 8*block)))
		require.NoError(t, f.Sync())
		require.NoError(t, mem.SyncDir("."))
		_, err := f.WriteAt(blocks(1, block, 'b'), 0)
		require.NoError(t, err)
		d, err := mem.OpenDirect("f")
		require.NoError(t, err)
		require.NoError(t, d.WriteBlocks(blocks(2, block, 'd'), 2*block, true))
		require.NoError(t, d.WriteBlocks(blocks(2, block, 'u'), 5*block, false))
		after := bytesOf(t, mem.Crash(seed), "f")
		require.Equal(t, string(blocks(2, block, 'd')), string(after[2*block:4*block]))
		if bytes.Count(after, []byte("b")) < block {
			lost++
		}
		if n := bytes.Count(after, []byte("u")); n > 0 && n < 2*block {
			require.Zero(t, n%512)
			torn++
		}
	}
	require.Positive(t, lost)
	require.Positive(t, torn)
}

// Where a durable direct write makes a size durable, no crash takes it back.
func TestDirectWriteKeepsTheSize(t *testing.T) {
	t.Parallel()
	for seed := range uint64(30) {
		mem := directMem()
		f := put(t, mem, "f", "")
		require.NoError(t, mem.SyncDir("."))
		_, err := f.WriteAt(make([]byte, 4*block), 0)
		require.NoError(t, err)
		d, err := mem.OpenDirect("f")
		require.NoError(t, err)
		require.NoError(t, d.WriteBlocks(blocks(1, block, 'd'), 2*block, true))
		after := bytesOf(t, mem.Crash(seed), "f")
		require.GreaterOrEqual(t, len(after), 3*block)
		require.Equal(t, string(blocks(1, block, 'd')), string(after[2*block:3*block]))
	}
}

// Of a direct write that fails, or that the machine stops in, any part may be
// there.
func TestDirectWriteFails(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	kept := map[int]bool{}
	for seed := range uint64(40) {
		mem := directMem()
		faulty := vfs.NewFaulty(mem)
		f := put(t, faulty, "f", string(make([]byte, 4*block)))
		require.NoError(t, f.Sync())
		require.NoError(t, faulty.SyncDir("."))
		d, err := faulty.OpenDirect("f")
		require.NoError(t, err)
		switch seed % 3 {
		case 0:
			faulty.Inject(vfs.Fault{Op: vfs.OpWrite, Err: broken, ShortBytes: block + 700})
			require.ErrorIs(t, d.WriteBlocks(blocks(4, block, 'd'), 0, true), broken)
			require.Equal(t, block, bytes.Count(bytesOf(t, mem, "f"), []byte("d")))
		case 1:
			faulty.HaltAfter(1) // between the write and the sync
			require.ErrorIs(t, d.WriteBlocks(blocks(4, block, 'd'), 0, true), vfs.ErrHalted)
			kept[bytes.Count(bytesOf(t, mem.Crash(seed), "f"), []byte("d"))] = true
		case 2:
			faulty.Inject(vfs.Fault{Op: vfs.OpSync, Err: broken})
			require.ErrorIs(t, d.WriteBlocks(blocks(4, block, 'd'), 0, true), broken)
			require.NoError(t, d.WriteBlocks(blocks(1, block, 'e'), 0, true))
			require.NoError(t, f.Sync())
			require.Zero(t, bytes.Count(bytesOf(t, mem.Crash(seed), "f"), []byte("d")),
				"what a sync has lost no later one brings back")
		}
	}
	require.Greater(t, len(kept), 3)
	require.True(t, kept[0] && kept[4*block])
}

func bytesOf(t *testing.T, fsys vfs.FS, name string) []byte {
	t.Helper()
	f, err := fsys.Open(name)
	require.NoError(t, err)
	size, err := f.Size()
	require.NoError(t, err)
	b := make([]byte, size)
	if size > 0 {
		_, err = f.ReadAt(b, 0)
		require.NoError(t, err)
	}
	require.NoError(t, f.Close())
	return b
}

func TestAlignedBuffer(t *testing.T) {
	t.Parallel()
	mem := vfs.NewMem()
	for _, align := range []int{512, 4096, 65536} {
		mem.DirectBlockBytes = align
		f := put(t, mem, "f", string(make([]byte, 3*align)))
		d, err := mem.OpenDirect("f")
		require.NoError(t, err)
		for range 20 {
			b := vfs.AlignedBuffer(3*align, align)
			require.Len(t, b, 3*align)
			require.Equal(t, len(b), cap(b))
			require.NoError(t, d.WriteBlocks(b, 0, true))
		}
		require.NoError(t, f.Close())
	}
}
