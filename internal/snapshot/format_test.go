package snapshot

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the fixtures of testdata anew")

const fixtureDir = "testdata/v1"

// fixtures are what the frozen files hold.
func fixtures() map[string]*content {
	blocks := small() // one block for each piece and for every few records
	blocks.blockBytes = 50
	return map[string]*content{
		"nothing.hsnap": {pieces: []piece{{Piece{End: PlaceEnd}, nil}}},
		"small.hsnap":   small(),
		"blocks.hsnap":  blocks,
	}
}

// Version 1 of the format is frozen: the same content gives the same bytes,
// and the bytes of the fixture give the same content, for ever.
func TestFormatIsFrozen(t *testing.T) {
	t.Parallel()
	if *update {
		require.NoError(t, os.MkdirAll(fixtureDir, 0o750))
		for name, c := range fixtures() {
			require.NoError(t, os.WriteFile(filepath.Join(fixtureDir, name), bytesOf(t, c), 0o640))
		}
	}
	entries, err := os.ReadDir(fixtureDir)
	require.NoError(t, err)
	require.Len(t, entries, len(fixtures()))
	for name, c := range fixtures() {
		frozen, err := os.ReadFile(filepath.Join(fixtureDir, name))
		require.NoError(t, err)
		require.Equal(t, frozen, bytesOf(t, c), name)
		got, info, err := loadFrom(&bytesFile{b: frozen}, LoadOptions{})
		require.NoError(t, err, name)
		requireHolds(t, c, got)
		require.Equal(t, c.header, info.Header)
	}
}
