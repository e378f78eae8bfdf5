package script

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var hapaxBlock = regexp.MustCompile("(?s)```hapax\n(.*?)```")

// TestDocs runs the examples of the documents: every block fenced as hapax is
// a script on an empty server.
func TestDocs(t *testing.T) {
	root := filepath.Join("..", "..")
	pages, err := filepath.Glob(filepath.Join(root, "docs", "commands", "*.md"))
	require.NoError(t, err)
	require.NotEmpty(t, pages)
	for _, page := range append(pages, filepath.Join(root, "README.md")) {
		text, err := os.ReadFile(page)
		if os.IsNotExist(err) {
			continue
		}
		require.NoError(t, err)
		for _, at := range hapaxBlock.FindAllSubmatchIndex(text, -1) {
			line := strings.Count(string(text[:at[2]]), "\n")
			t.Run(fmt.Sprintf("%s/line%d", filepath.Base(page), line+1), func(t *testing.T) {
				t.Parallel()
				s, err := Parse(page, "@local an example\n"+string(text[at[2]:at[3]]))
				require.NoError(t, err)
				forEachProto(t, s, func(t *testing.T, proto int) {
					r := Runner{Target: startMemory(t, localOptions{shards: 4}), Proto: proto}
					require.NoError(t, r.Run(s))
				})
			})
		}
	}
}
