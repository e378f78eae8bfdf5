package inspect

import (
	"encoding/json"
	"fmt"

	"github.com/hapaxkv/hapax/internal/engine"
	"github.com/hapaxkv/hapax/internal/snapshot"
	"github.com/hapaxkv/hapax/internal/wal"
)

// Shapes of JSON for what other packages describe in types of their own, so
// that a change there changes no field that somebody's script reads.

type manifestJSON struct {
	LogID        string  `json:"log_id"` // 16 hexadecimal digits
	FirstSegment uint64  `json:"first_segment"`
	SafeLSN      wal.LSN `json:"safe_lsn"`
	TMilli       int64   `json:"t_ms"`
}

func newManifestJSON(m *engine.Manifest) *manifestJSON {
	if m == nil {
		return nil
	}
	return &manifestJSON{fmt.Sprintf("%016x", m.LogID), m.FirstSegment, m.ReachLSN, m.ReachT}
}

type snapshotJSON struct {
	File      string  `json:"file"`
	ID        uint64  `json:"id"`
	LastLSN   wal.LSN `json:"last_lsn"`
	Keys      int64   `json:"keys"`
	Records   int64   `json:"records"`
	SizeBytes int64   `json:"size_bytes"`
	TMilli    int64   `json:"t_ms"`
	T         string  `json:"t,omitempty"`
}

func newSnapshotJSON(file string, i *snapshot.Info) snapshotJSON {
	s := snapshotJSON{File: file, ID: i.ID, LastLSN: i.LastLSN, Keys: i.Keys, Records: i.Records,
		SizeBytes: i.SizeBytes, TMilli: i.LastT}
	if i.LastT > 0 {
		s.T = milliTime(i.LastT)
	}
	return s
}

type segmentJSON struct {
	Name      string  `json:"name"`
	Seq       uint64  `json:"seq"`
	FirstLSN  wal.LSN `json:"first_lsn"` // 0 when it holds no frame
	Records   int64   `json:"records"`
	Frames    int64   `json:"frames"`
	UsedBytes int64   `json:"used_bytes"`
	SizeBytes int64   `json:"size_bytes"`
	Needed    bool    `json:"needed"` // false: older than the oldest snapshot, and not read
}

// MarshalJSON implements json.Marshaler.
func (r *CheckReport) MarshalJSON() ([]byte, error) {
	type plain CheckReport
	return json.Marshal(struct {
		Good bool `json:"good"`
		*plain
		Manifest *manifestJSON `json:"manifest,omitempty"`
	}{r.Good(), (*plain)(r), newManifestJSON(r.Manifest)})
}

// MarshalJSON implements json.Marshaler.
func (r *StatReport) MarshalJSON() ([]byte, error) {
	type plain StatReport
	segments := make([]segmentJSON, len(r.Segments))
	for i, s := range r.Segments {
		segments[i] = segmentJSON{s.Name, s.Seq, s.FirstLSN, s.Records, s.Frames, s.UsedBytes, s.SizeBytes, !s.Skipped}
	}
	return json.Marshal(struct {
		*plain
		Manifest *manifestJSON `json:"manifest,omitempty"`
		Segments []segmentJSON `json:"segments,omitempty"`
	}{(*plain)(r), newManifestJSON(r.Manifest), segments})
}

// MarshalJSON implements json.Marshaler.
func (s SnapshotReport) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		snapshotJSON
		Good bool `json:"good"`
	}{newSnapshotJSON(s.File, &s.Info), s.Good})
}

// MarshalJSON implements json.Marshaler.
func (s SnapshotStat) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		snapshotJSON
		AgeMilli int64  `json:"age_ms"`
		Error    string `json:"error,omitempty"`
	}{newSnapshotJSON(s.File, &s.Info), s.AgeMilli, s.Error})
}

// keyJSON is a key in JSON, as in a dump.
type keyJSON struct {
	Key       *string `json:"key,omitempty"`
	KeyBase64 *string `json:"key_base64,omitempty"`
}

func newKeyJSON(key []byte) keyJSON {
	if key == nil {
		return keyJSON{}
	}
	k := newText(key)
	return keyJSON{k.plain, k.base64}
}

// MarshalJSON implements json.Marshaler.
func (v Violation) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Place
		DB int `json:"db"`
		keyJSON
		Before wal.LSN `json:"before_lsn,omitempty"`
		Rule   string  `json:"rule"`
	}{v.Place, v.DB, newKeyJSON(v.Key), v.Before, v.Rule})
}

// MarshalJSON implements json.Marshaler.
func (r Removal) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Place
		DB int `json:"db"`
		keyJSON
		How string `json:"how"`
	}{r.Place, r.DB, newKeyJSON(r.Key), r.How})
}
