package snapshot

import (
	"bytes"
	"errors"
	"slices"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hapaxkv/hapax/internal/vfs"
)

// requireDamage checks that a file of these bytes is refused as damaged.
func requireDamage(t testing.TB, b []byte, msg string, args ...any) *DamageError {
	t.Helper()
	_, _, err := loadFrom(&bytesFile{b: b}, LoadOptions{})
	var damage *DamageError
	require.True(t, errors.As(err, &damage), "%s: %v", msg, err)
	require.Equal(t, "snap", damage.File)
	require.NotEmpty(t, damage.Reason)
	require.GreaterOrEqual(t, damage.Offset, int64(0))
	require.LessOrEqual(t, damage.Offset, int64(len(b)))
	return damage
}

// No byte of a snapshot can change unnoticed, nor be taken for a newer version.
func TestEveryFlippedByteIsRefused(t *testing.T) {
	t.Parallel()
	whole := bytesOf(t, small())
	for i := range whole {
		for _, mask := range []byte{1, 0x80, 0xff, whole[i]} {
			if mask == 0 {
				continue
			}
			b := slices.Clone(whole)
			b[i] ^= mask
			damage := requireDamage(t, b, "byte %d ^ %#x", i, mask)
			require.False(t, damage.Newer, "byte %d ^ %#x: %v", i, mask, damage)
		}
	}
}

func TestEveryTruncationIsRefused(t *testing.T) {
	t.Parallel()
	whole := bytesOf(t, small())
	for n := range whole {
		requireDamage(t, whole[:n], "cut to %d bytes", n)
		requireDamage(t, append(slices.Clone(whole[:n]), make([]byte, len(whole)-n)...), "zeros from %d", n)
		requireDamage(t, slices.Delete(slices.Clone(whole), n, n+1), "without byte %d", n)
		requireDamage(t, slices.Insert(slices.Clone(whole), n, 0), "a byte more at %d", n)
	}
	requireDamage(t, append(slices.Clone(whole), 0), "a byte at the end")
	requireDamage(t, append(slices.Clone(whole), whole...), "twice")
}

// Bytes of another snapshot, at the same place and whole in themselves, do not
// pass: a snapshot of the same store a moment later differs in its header only.
func TestForeignBytesAreRefused(t *testing.T) {
	t.Parallel()
	c := small()
	whole := bytesOf(t, c)
	c.header.CreatedMilli++
	other := bytesOf(t, c)
	require.Equal(t, len(whole), len(other))
	for from := 0; from < len(whole); from += 16 {
		for to := from + 16; to <= len(whole); to += 16 {
			b := slices.Clone(whole)
			copy(b[from:to], other[from:to])
			if bytes.Equal(b, whole) || bytes.Equal(b, other) {
				continue
			}
			requireDamage(t, b, "%d to %d", from, to)
		}
	}
}

func TestBlocksInAnotherOrderAreRefused(t *testing.T) {
	t.Parallel()
	whole := bytesOf(t, large())
	r, err := Open(&bytesFile{b: whole}, "snap")
	require.NoError(t, err)
	b1, b2 := r.blocks[1], r.blocks[2]
	b := slices.Clone(whole[:b1.at])
	b = append(b, whole[b2.at:r.blocks[3].at]...)
	b = append(b, whole[b1.at:b2.at]...)
	b = append(b, whole[r.blocks[3].at:]...)
	require.Equal(t, len(whole), len(b))
	damage := requireDamage(t, b, "swapped")
	require.Equal(t, b1.at, damage.Offset)
	require.Contains(t, damage.Reason, "block 2 is not the one that the index names")
}

// The place that is named is where the damage is, however many workers look.
func TestDamageNamesThePlace(t *testing.T) {
	t.Parallel()
	whole := bytesOf(t, large())
	r, err := Open(&bytesFile{b: whole}, "snap")
	require.NoError(t, err)
	for i := range r.blocks {
		at := r.blocks[i].at
		b := slices.Clone(whole)
		b[at+blockHeaderBytes+300] ^= 1
		for _, workers := range []int{1, 4} {
			got, _, err := loadFrom(&bytesFile{b: b}, LoadOptions{Workers: workers})
			require.EqualError(t, err, (&DamageError{
				File: "snap", Offset: at,
				Reason: damaged(0, "block %d does not match its checksum", i+1).reason,
			}).Error())
			require.Equal(t, i >= r.pieces, got.pieces != nil)
		}
	}
}

func TestDamageMessages(t *testing.T) {
	t.Parallel()
	require.EqualError(t, requireDamage(t, make([]byte, 1000), "zeros"),
		"snapshot damaged: snap, offset 0: this is no snapshot of Hapax. Nothing was changed. "+
			"To go on, restore the file from a backup")
	require.EqualError(t, requireDamage(t, []byte("HAPAXSNP"), "short"),
		"snapshot damaged: snap, offset 8: the file is too short for a snapshot. Nothing was changed. "+
			"To go on, restore the file from a backup")
	whole := bytesOf(t, small())
	require.EqualError(t, requireDamage(t, whole[:len(whole)-1], "cut"),
		"snapshot damaged: snap, offset 906: the file does not end as a finished snapshot does. Nothing was changed. "+
			"To go on, restore the file from a backup")
}

// A disk that cannot be read is not a damaged snapshot: nothing may be made
// of the file, a second look may succeed.
func TestReadErrorsAreNotDamage(t *testing.T) {
	t.Parallel()
	fsys := vfs.NewFaulty(vfs.NewMem())
	file, err := fsys.Create("snap")
	require.NoError(t, err)
	c := small()
	writeTo(t, file, c)
	for _, kind := range []vfs.Op{vfs.OpRead, vfs.OpSize} {
		nth := 1
		for ; ; nth++ {
			fsys.Clear()
			fsys.Inject(vfs.Fault{Op: kind, Nth: nth, Err: syscall.EIO})
			got, _, err := loadFrom(file, LoadOptions{})
			if err == nil {
				requireHolds(t, c, got)
				break
			}
			require.ErrorIs(t, err, syscall.EIO)
			require.ErrorContains(t, err, "snap")
			var damage *DamageError
			require.False(t, errors.As(err, &damage))
		}
		require.Greater(t, nth, 1)
	}
}

// shrinking is a file that somebody cuts while it is read.
type shrinking struct{ bytesFile }

func (s *shrinking) Size() (int64, error) { return int64(len(s.b)) + 100_000, nil }

func TestAFileThatShrinks(t *testing.T) {
	t.Parallel()
	_, _, err := loadFrom(&shrinking{bytesFile{b: bytesOf(t, small())}}, LoadOptions{})
	var damage *DamageError
	require.True(t, errors.As(err, &damage), "%v", err)
	require.Contains(t, damage.Reason, "has become shorter")
}
