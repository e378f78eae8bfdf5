package inspect

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"unicode/utf8"

	"github.com/hapaxkv/hapax/internal/idem"
	"github.com/hapaxkv/hapax/internal/op"
)

// text is bytes in JSON: a string under one name when they are UTF-8, base64
// under another when they are not. A pointer tells "" from absent.
type text struct{ plain, base64 *string }

func newText(b []byte) text {
	if utf8.Valid(b) {
		s := string(b)
		return text{plain: &s}
	}
	s := base64.StdEncoding.EncodeToString(b)
	return text{base64: &s}
}

// newCutText is the text of at most n bytes of b. UTF-8 stays so when it is cut
// within a letter.
func newCutText(b []byte, n int) text {
	shown := cut(b, n)
	if len(shown) < len(b) && utf8.Valid(b) {
		shown = bytes.ToValidUTF8(shown, nil)
	}
	return newText(shown)
}

// jsonItem is the shape of a line; docs/tools.md describes the fields.
type jsonItem struct {
	File        string    `json:"file"`
	Offset      *int64    `json:"offset,omitempty"`
	LSN         uint64    `json:"lsn,omitempty"`
	TMilli      *int64    `json:"t_ms,omitempty"`
	T           string    `json:"t,omitempty"`
	Op          string    `json:"op"`
	Code        uint8     `json:"code"`
	DB          *int      `json:"db,omitempty"`
	With        *int      `json:"with_db,omitempty"`
	Key         *string   `json:"key,omitempty"`
	KeyBase64   *string   `json:"key_base64,omitempty"`
	SpliceAt    *int64    `json:"splice_offset,omitempty"`
	DeadlineMs  *int64    `json:"deadline_ms,omitempty"`
	Deadline    string    `json:"deadline,omitempty"`
	Type        uint8     `json:"type,omitempty"`
	Raw         bool      `json:"raw,omitempty"`
	ValueBytes  *int      `json:"value_bytes,omitempty"`
	Value       *string   `json:"value,omitempty"`
	ValueBase64 *string   `json:"value_base64,omitempty"`
	Idem        *jsonIdem `json:"idem,omitempty"`
}

type jsonIdem struct {
	State             string  `json:"state"`
	Fingerprint       *string `json:"fingerprint,omitempty"`
	FingerprintBase64 *string `json:"fingerprint_base64,omitempty"`
	Owner             *string `json:"owner,omitempty"`
	OwnerBase64       *string `json:"owner_base64,omitempty"`
	ResultBytes       int     `json:"result_bytes"`
	Result            *string `json:"result,omitempty"`
	ResultBase64      *string `json:"result_base64,omitempty"`
}

// AppendJSON adds an item as one line of JSON. At most valueBytes of a value
// are shown, all when it is negative; value_bytes is its whole length.
func AppendJSON(dst []byte, it *Item, valueBytes int) ([]byte, error) {
	o := it.Op
	out := jsonItem{File: it.File, Op: CodeName(o.Code), Code: uint8(o.Code), Type: o.Type, Raw: o.Raw}
	if it.LSN > 0 {
		out.LSN, out.TMilli, out.T = uint64(it.LSN), &it.TMilli, milliTime(it.TMilli)
	}
	if it.Offset > 0 {
		out.Offset = &it.Offset
	}
	if o.Code != op.Tick && o.Code != op.FlushAll {
		out.DB = &o.DB
	}
	switch o.Code {
	case op.SwapDB:
		out.With = &o.DB2
	case op.Put, op.IdempotencyPut:
		out.setKey(o)
		out.setDeadline(o)
		if r, err := idem.Decode(o.Value); err == nil {
			out.Idem = newJSONIdem(&r, valueBytes)
			break
		}
		out.setValue(o, valueBytes)
	case op.SetDeadline:
		out.setKey(o)
		out.setDeadline(o)
	case op.Splice:
		out.setKey(o)
		out.SpliceAt = &o.Offset
		out.setValue(o, valueBytes)
	case op.Delete:
		out.setKey(o)
	}
	line, err := json.Marshal(&out)
	if err != nil {
		return dst, err
	}
	return append(append(dst, line...), '\n'), nil
}

func (j *jsonItem) setKey(o *op.Op) {
	k := newText(o.Key)
	j.Key, j.KeyBase64 = k.plain, k.base64
}

// setDeadline writes 0 and no time for none.
func (j *jsonItem) setDeadline(o *op.Op) {
	j.DeadlineMs = &o.DeadlineMilli
	if o.DeadlineMilli != 0 {
		j.Deadline = milliTime(o.DeadlineMilli)
	}
}

func (j *jsonItem) setValue(o *op.Op, valueBytes int) {
	n := len(o.Value)
	v := newCutText(o.Value, valueBytes)
	j.ValueBytes, j.Value, j.ValueBase64 = &n, v.plain, v.base64
}

func newJSONIdem(r *idem.Record, valueBytes int) *jsonIdem {
	fingerprint, owner := newText(r.Fingerprint), newText(r.Owner)
	out := &jsonIdem{
		State:       stateName(r.State),
		Fingerprint: fingerprint.plain, FingerprintBase64: fingerprint.base64,
		Owner: owner.plain, OwnerBase64: owner.base64,
		ResultBytes: len(r.Result),
	}
	if r.State == idem.Completed {
		result := newCutText(r.Result, valueBytes)
		out.Result, out.ResultBase64 = result.plain, result.base64
	}
	return out
}
