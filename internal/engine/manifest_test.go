package engine

import (
	"fmt"
	"hash/crc32"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hapaxkv/hapax/internal/vfs"
)

// fixtures are frozen: every later version reads them, and this one writes
// them.
var fixtures = map[string]Manifest{
	"new":   {FirstSegment: 1},
	"log":   {LogID: 0x0123456789abcdef, FirstSegment: 1, ReachLSN: 42, ReachT: 1_800_000_000_123},
	"one":   {LogID: 7, FirstSegment: 1, ReachLSN: 1 << 40, ReachT: 1_800_000_000_123, Snapshots: []SnapshotRef{{1, 0, 413}}},
	"two":   {LogID: 1<<64 - 1, FirstSegment: 18, ReachLSN: 1<<64 - 1, ReachT: 1<<63 - 1, Snapshots: []SnapshotRef{{300, 1 << 50, 1 << 45}, {299, 1 << 50, 1 << 44}}},
	"nolog": {FirstSegment: 9, ReachLSN: 1000, ReachT: 1_800_000_000_123, Snapshots: []SnapshotRef{{12, 1000, 5000}, {11, 900, 4000}}},
}

func TestManifestFixtures(t *testing.T) {
	for name, want := range fixtures {
		text, err := os.ReadFile("testdata/v1/" + name)
		require.NoError(t, err)
		require.Equal(t, string(text), want.encode(), name)
		got, _, err := parseManifest(string(text))
		require.NoError(t, err, name)
		require.Equal(t, &want, got)
	}
}

func TestManifestIsReplacedAndRead(t *testing.T) {
	fs := vfs.NewMem()
	require.NoError(t, fs.MkdirAll("data"))
	m, err := ReadManifest(fs, "data")
	require.NoError(t, err)
	require.Nil(t, m)
	for _, want := range fixtures {
		require.NoError(t, want.Write(fs, "data"))
		m, err = ReadManifest(fs.Crash(0), "data")
		require.NoError(t, err)
		require.Equal(t, &want, m)
	}
	require.Equal(t, []string{ManifestName}, files(t, fs, "data", ""))
}

// sealed is lines with the right checksum below.
func sealed(lines ...string) string {
	text := strings.Join(lines, "\n") + "\n"
	return text + fmt.Sprintf("crc32c %08x\n", crc32.Checksum([]byte(text), castagnoli))
}

func TestManifestRefusals(t *testing.T) {
	good := []string{"hapax-manifest 1", "log-id 0000000000000007", "first-segment 1", "reach-lsn 5", "reach-t 6"}
	with := func(change ...string) string { return sealed(append(append([]string(nil), good...), change...)...) }
	_, _, err := parseManifest(with())
	require.NoError(t, err)
	instead := func(i int, line string) string {
		lines := append([]string(nil), good...)
		lines[i] = line
		return sealed(lines...)
	}
	for name, text := range map[string]string{
		"empty":                  "",
		"another program's":      "hello\n",
		"no version":             instead(0, "hapax-manifest"),
		"version 0":              instead(0, "hapax-manifest 0"),
		"no log id":              instead(1, "log-id"),
		"short log id":           instead(1, "log-id 7"),
		"upper case log id":      instead(1, "log-id 000000000000000A"),
		"leading zero":           instead(2, "first-segment 01"),
		"segment 0":              instead(2, "first-segment 0"),
		"negative":               instead(3, "reach-lsn -1"),
		"too large":              instead(3, "reach-lsn 18446744073709551616"),
		"trailing space":         instead(4, "reach-t 6 "),
		"unknown line":           with("colour blue"),
		"snapshot 0":             with("snapshot 0 1 2"),
		"three snapshots":        with("snapshot 3 1 2", "snapshot 2 1 2", "snapshot 1 1 2"),
		"older first":            with("snapshot 1 1 2", "snapshot 2 2 2"),
		"older with more":        with("snapshot 2 1 2", "snapshot 1 2 2"),
		"twice the same":         with("snapshot 2 1 2", "snapshot 2 1 2"),
		"something behind":       with() + "\n",
		"carriage returns":       strings.ReplaceAll(with(), "\n", "\r\n"),
		"no end of the line":     strings.TrimSuffix(with(), "\n"),
		"missing line":           sealed(good[:4]...),
		"upper case checksum":    strings.ToUpper(with()),
		"checksum of other text": strings.Replace(with(), "reach-t 6", "reach-t 7", 1),
	} {
		_, _, err := parseManifest(text)
		require.Error(t, err, name)
		require.NotErrorIs(t, err, errNewerManifest, name)
	}
}

func TestManifestOfANewerVersion(t *testing.T) {
	fs := vfs.NewMem()
	require.NoError(t, fs.MkdirAll("data"))
	require.NoError(t, writeText(fs, "data/MANIFEST", "hapax-manifest 2\nwhatever it is\n"))
	_, err := ReadManifest(fs, "data")
	var refused *ManifestError
	require.ErrorAs(t, err, &refused)
	require.True(t, refused.Newer)
	require.ErrorContains(t, err, "start the newer Hapax that wrote it")
}

// A large file under the name is not read.
func TestManifestThatIsTooLarge(t *testing.T) {
	fs := vfs.NewFaulty(vfs.NewMem())
	require.NoError(t, fs.MkdirAll("data"))
	require.NoError(t, writeText(fs, "data/MANIFEST", strings.Repeat("x", maxManifestBytes+1)))
	fs.Inject(vfs.Fault{Op: vfs.OpRead, Err: syscall.EIO})
	_, err := ReadManifest(fs, "data")
	require.ErrorContains(t, err, "at most")
}

func FuzzManifest(f *testing.F) {
	for _, m := range fixtures {
		f.Add(m.encode())
	}
	f.Fuzz(func(t *testing.T, text string) {
		m, line, err := parseManifest(text)
		if err != nil {
			require.LessOrEqual(t, line, strings.Count(text, "\n")+1)
			return
		}
		require.Equal(t, text, m.encode(), "one text for each manifest")
	})
}

func TestSnapshotNames(t *testing.T) {
	require.Equal(t, "snap-000000000000001f.hsnap", SnapshotName(31))
	for name, want := range map[string]string{
		"snap-000000000000001f.hsnap":       "31",
		"snap-000000000000001f.hsnap.tmp":   "31 .tmp",
		"snap-000000000000001f.hsnap.bad-2": "31 .bad-2",
		"snap-000000000000001F.hsnap":       "",
		"snap-000000000000001f":             "",
		"snap-1f.hsnap":                     "",
		"snap-+00000000000001f.hsnap":       "",
		"wal-000000000000001f.seg":          "",
	} {
		id, rest, ok := parseSnapshotName(name)
		got := ""
		if ok {
			got = strings.TrimSpace(fmt.Sprint(id, " ", rest))
		}
		require.Equal(t, want, got, name)
	}
}
