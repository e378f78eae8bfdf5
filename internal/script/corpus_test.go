package script

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// forEachScript runs f as a subtest for every script of testdata.
func forEachScript(t *testing.T, f func(t *testing.T, s *Script)) {
	t.Helper()
	const dir = "testdata"
	found := 0
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".txt" {
			return err
		}
		found++
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		t.Run(filepath.ToSlash(name), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			s, err := Parse(path, string(text))
			require.NoError(t, err)
			f(t, s)
		})
		return nil
	}))
	require.NotZero(t, found, "no scripts in %s", dir)
}

// forEachProto runs f in each protocol the script is for.
func forEachProto(t *testing.T, s *Script, f func(t *testing.T, proto int)) {
	for _, proto := range []int{2, 3} {
		if s.Resp == 0 || s.Resp == proto {
			t.Run(fmt.Sprintf("resp%d", proto), func(t *testing.T) { f(t, proto) })
		}
	}
}
