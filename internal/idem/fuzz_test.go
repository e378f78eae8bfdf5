package idem

import (
	"bytes"
	"testing"
)

// FuzzDecode: any bytes are refused or are exactly what Append writes for the
// decoded record, so no two byte strings mean the same record.
func FuzzDecode(f *testing.F) {
	f.Add([]byte{})
	f.Add(Append(nil, &Record{State: Pending, Fingerprint: []byte("f"), Owner: []byte("o")}))
	f.Add(Append(nil, &Record{State: Completed, Fingerprint: []byte("f"), Owner: []byte("o"), Result: []byte("r")}))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := Decode(b)
		if err != nil {
			return
		}
		if !TokenOK(r.Fingerprint) || !TokenOK(r.Owner) || len(r.Result) > MaxResultBytes {
			t.Fatalf("decoded out of bounds: %d %d %d", len(r.Fingerprint), len(r.Owner), len(r.Result))
		}
		if again := Append(nil, &r); !bytes.Equal(again, b) {
			t.Fatalf("decoded %x, encodes to %x", b, again)
		}
	})
}

// FuzzEncode: every record within bounds survives, after whatever bytes it is
// appended to.
func FuzzEncode(f *testing.F) {
	f.Add([]byte("before"), []byte("fingerprint"), []byte("owner"), []byte("result"), true)
	f.Add([]byte{}, []byte{0}, []byte{0xff}, []byte{}, false)
	f.Fuzz(func(t *testing.T, before, fingerprint, owner, result []byte, done bool) {
		if !TokenOK(fingerprint) || !TokenOK(owner) || len(result) > MaxResultBytes {
			return
		}
		r := Record{State: Completed, Fingerprint: fingerprint, Owner: owner, Result: result}
		if !done {
			r.State, r.Result = Pending, nil
		}
		b := Append(bytes.Clone(before), &r)
		if !bytes.HasPrefix(b, before) {
			t.Fatal("the bytes before were changed")
		}
		b = b[len(before):]
		if len(b) != Size(r.Fingerprint, r.Owner, r.Result) {
			t.Fatalf("%d bytes, Size says %d", len(b), Size(r.Fingerprint, r.Owner, r.Result))
		}
		got, err := Decode(b)
		if err != nil {
			t.Fatal(err)
		}
		requireSame(t, r, got)
	})
}
