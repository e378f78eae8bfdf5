package inspect

import (
	"encoding/json"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hapaxkv/hapax/internal/op"
	"github.com/hapaxkv/hapax/internal/vfs"
)

// Fields of JSON are promises to scripts: all of them are here, and none has a
// name that only Go would give.
func TestJSONOfReports(t *testing.T) {
	t.Parallel()
	fsys := vfs.NewMem()
	forge(t, fsys,
		entry{0, pending("k\xff", "f", "me", 1000)}, entry{1, pending("k\xff", "f", "you", 1000)},
		entry{2, op.Op{Code: op.Delete, Key: []byte("k\xff")}}, entry{3, pending("l", "f", "me", 1000)},
		entry{4, op.Op{Code: op.FlushDB}})
	forgeSnapshot(t, fsys, 1, 5)
	checked, err := json.Marshal(check(t, fsys, dir))
	require.NoError(t, err)
	// A manifest without a log, as forged, has log id 0.
	require.JSONEq(t, `{
		"good": false, "path": "data", "in_use": false,
		"manifest": {"log_id": "0000000000000000", "first_segment": 1, "safe_lsn": 0, "t_ms": 0},
		"snapshots": [{"file": "snapshot/snap-0000000000000001.hsnap", "id": 1, "last_lsn": 5, "keys": 0, "records": 0,
			"size_bytes": 1, "t_ms": 1800000000000, "t": "2027-01-15T08:00:00.000Z", "good": true}],
		"log": {"base_lsn": 0, "segments": 1, "first_lsn": 1, "last_lsn": 5, "records": 5, "frames": 1,
			"last_t_ms": 1800000000004, "torn_tail_bytes": 0},
		"idem": {"begun": 3, "completed": 0, "removed": 2, "live": 0, "broken": 1,
			"violations": [{"file": "wal/wal-0000000000000001.seg", "offset": 1, "lsn": 2, "t_ms": 1800000000001, "db": 0,
				"key_base64": "a/8=", "before_lsn": 1, "rule": "two owners at once"}],
			"removals": [
				{"file": "wal/wal-0000000000000001.seg", "offset": 1, "lsn": 3, "t_ms": 1800000000002, "db": 0,
					"key_base64": "a/8=", "how": "deleted"},
				{"file": "wal/wal-0000000000000001.seg", "offset": 1, "lsn": 5, "t_ms": 1800000000004, "db": 0,
					"how": "the database was flushed, with 1 record"}]}
	}`, masked(string(checked)))

	stated, err := json.Marshal(stat(t, fsys, dir))
	require.NoError(t, err)
	require.NotRegexp(t, `"[A-Z]\w*":`, string(stated))
	for _, field := range []string{"manifest", "segments", "used_bytes", "size_bytes", "needed", "age_ms", "disk_bytes", "a_start_loads"} {
		require.Contains(t, string(stated), `"`+field+`":`)
	}
}

// sizes are numbers that depend on formats of other packages.
var sizes = regexp.MustCompile(`"(offset|size_bytes|frames)":\d+`)

func masked(s string) string { return sizes.ReplaceAllString(s, `"$1":1`) }
