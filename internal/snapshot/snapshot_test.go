package snapshot_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hapaxkv/hapax/internal/snapshot"
)

func TestRoundTrip(t *testing.T) {
	c := small()
	f := newFile(t)
	info := write(t, f, c)
	require.Equal(t, snapshot.Info{
		Header: c.header, FirstLSN: 40, LastLSN: 45, LastT: 1_700_000_002_000,
		Pieces: 4, Keys: 6, Records: 5, Blocks: 2, SizeBytes: info.SizeBytes,
	}, info)
	got, again, err := load(f, snapshot.LoadOptions{})
	require.NoError(t, err)
	require.Equal(t, info, again)
	requireHolds(t, c, got)
}
