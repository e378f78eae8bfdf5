package idem

import (
	"bytes"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Frozen bytes: a change here makes existing logs and snapshots unreadable.
func TestRecordFixtures(t *testing.T) {
	t.Parallel()
	for name, fixture := range map[string]struct {
		record Record
		hex    string
	}{
		"pending": {
			Record{State: Pending, Fingerprint: []byte("digest"), Owner: []byte("me")},
			"f14944" + "01" + "01" + "06" + "02" + "00000000" + "646967657374" + "6d65",
		},
		"completed": {
			Record{State: Completed, Fingerprint: []byte("digest"), Owner: []byte("me"), Result: []byte("ok\x00")},
			"f14944" + "01" + "02" + "06" + "02" + "03000000" + "646967657374" + "6d65" + "6f6b00",
		},
		"completed, empty result": {
			Record{State: Completed, Fingerprint: []byte{0}, Owner: []byte{0xff}},
			"f14944" + "01" + "02" + "01" + "01" + "00000000" + "00" + "ff",
		},
		"completed, 258 bytes": {
			Record{State: Completed, Fingerprint: []byte("f"), Owner: []byte("o"), Result: bytes.Repeat([]byte("z"), 258)},
			"f14944" + "01" + "02" + "01" + "01" + "02010000" + "66" + "6f" + strings.Repeat("7a", 258),
		},
	} {
		t.Run(name, func(t *testing.T) {
			encoded := Append(nil, &fixture.record)
			require.Equal(t, fixture.hex, hex.EncodeToString(encoded))
			require.Len(t, encoded, Size(fixture.record.Fingerprint, fixture.record.Owner, fixture.record.Result))
			decoded, err := Decode(encoded)
			require.NoError(t, err)
			requireSame(t, fixture.record, decoded)
		})
	}
}

// The promise in the documentation: a 64-byte digest and a 32-byte owner.
func TestPendingSize(t *testing.T) {
	t.Parallel()
	r := Record{State: Pending, Fingerprint: make([]byte, 64), Owner: make([]byte, 32)}
	require.Len(t, Append(nil, &r), 107)
}

func TestLargestRecord(t *testing.T) {
	t.Parallel()
	r := Record{
		State:       Completed,
		Fingerprint: bytes.Repeat([]byte("f"), MaxTokenBytes),
		Owner:       bytes.Repeat([]byte("o"), MaxTokenBytes),
		Result:      bytes.Repeat([]byte("r"), MaxResultBytes),
	}
	decoded, err := Decode(Append(nil, &r))
	require.NoError(t, err)
	requireSame(t, r, decoded)
}

func TestMalformed(t *testing.T) {
	t.Parallel()
	pending := Append(nil, &Record{State: Pending, Fingerprint: []byte("ff"), Owner: []byte("oo")})
	completed := Append(nil, &Record{State: Completed, Fingerprint: []byte("ff"), Owner: []byte("oo"), Result: []byte("r")})
	bad := map[string][]byte{
		"nothing":                 nil,
		"a string":                []byte("hello, this is some ordinary value"),
		"header cut":              pending[:HeaderBytes-1],
		"header alone":            pending[:HeaderBytes],
		"last byte missing":       pending[:len(pending)-1],
		"a byte too many":         append(bytes.Clone(pending), 0),
		"result missing":          completed[:len(completed)-1],
		"result with a byte more": append(bytes.Clone(completed), 'x'),
	}
	for name, edit := range map[string]struct {
		at    int
		value byte
	}{
		"magic 0": {0, 0xF0}, "magic 1": {1, 'i'}, "magic 2": {2, 'd'},
		"version 0": {3, 0}, "version 2": {3, 2},
		"state 0": {4, 0}, "state 3": {4, 3}, "state pending with a result": {4, 1},
		"fingerprint empty": {5, 0}, "fingerprint longer": {5, 3}, "fingerprint 129": {5, 129},
		"owner empty": {6, 0}, "owner longer": {6, 3}, "owner 255": {6, 255},
		"result longer": {7, 2}, "result huge": {10, 0xff},
	} {
		b := bytes.Clone(completed)
		b[edit.at] = edit.value
		bad[name] = b
	}
	// Right in length, wrong in its bounds.
	for name, sizes := range map[string][3]int{
		"fingerprint of 129 bytes": {129, 1, 0}, "owner of 129 bytes": {1, 129, 0},
		"result of 4 MiB and a byte": {1, 1, MaxResultBytes + 1},
		"no fingerprint":             {0, 1, 0}, "no owner": {1, 0, 0},
	} {
		bad[name] = Append(nil, &Record{State: Completed,
			Fingerprint: make([]byte, sizes[0]), Owner: make([]byte, sizes[1]), Result: make([]byte, sizes[2])})
	}
	for name, b := range bad {
		_, err := Decode(b)
		require.ErrorIs(t, err, ErrBadRecord, name)
	}
}

func TestTokenOK(t *testing.T) {
	t.Parallel()
	for length, want := range map[int]bool{0: false, 1: true, 127: true, 128: true, 129: false, 1 << 20: false} {
		require.Equal(t, want, TokenOK(make([]byte, length)), length)
	}
}

func requireSame(t *testing.T, want, got Record) {
	t.Helper()
	require.Equal(t, want.State, got.State)
	require.Equal(t, string(want.Fingerprint), string(got.Fingerprint))
	require.Equal(t, string(want.Owner), string(got.Owner))
	require.Equal(t, string(want.Result), string(got.Result))
}
