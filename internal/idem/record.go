package idem

import "encoding/binary"

// The layout, field by field, is in docs/format/idem-record.md. It is frozen:
// records are in logs and snapshots.
const (
	HeaderBytes = 11

	version = 1

	versionAt     = 3
	stateAt       = 4
	fingerprintAt = 5
	ownerAt       = 6
	resultAt      = 7
)

var magic = [3]byte{0xF1, 'I', 'D'}

// Size is the length of the record that holds these.
func Size(fingerprint, owner, result []byte) int {
	return HeaderBytes + len(fingerprint) + len(owner) + len(result)
}

// Append packs r behind dst. r is within bounds, and a pending one has no
// result.
func Append(dst []byte, r *Record) []byte { return append(AppendHead(dst, r), r.Result...) }

// AppendHead is Append without the result, which is the record's end.
func AppendHead(dst []byte, r *Record) []byte {
	dst = append(dst, magic[0], magic[1], magic[2], version, byte(r.State),
		byte(len(r.Fingerprint)), byte(len(r.Owner)))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(r.Result)))
	dst = append(dst, r.Fingerprint...)
	return append(dst, r.Owner...)
}

// Decode reads exactly one record from b. Anything that Append could not have
// written is ErrBadRecord: a wrong magic, an unknown version or state, a token
// or result out of bounds, a result while pending, a byte missing or too many.
func Decode(b []byte) (Record, error) {
	var r Record
	if !decode(b, &r) {
		return Record{}, ErrBadRecord
	}
	return r, nil
}

// decode is Decode into r, which a refusal leaves as it was.
func decode(b []byte, r *Record) bool {
	if len(b) < HeaderBytes || [3]byte(b[:3]) != magic || b[versionAt] != version {
		return false
	}
	state := State(b[stateAt])
	fingerprintBytes, ownerBytes := int(b[fingerprintAt]), int(b[ownerAt])
	resultBytes := int64(binary.LittleEndian.Uint32(b[resultAt:]))
	switch {
	case state != Pending && state != Completed,
		fingerprintBytes < 1 || fingerprintBytes > MaxTokenBytes,
		ownerBytes < 1 || ownerBytes > MaxTokenBytes,
		resultBytes > MaxResultBytes,
		state == Pending && resultBytes != 0,
		int64(len(b)) != HeaderBytes+int64(fingerprintBytes)+int64(ownerBytes)+resultBytes:
		return false
	}
	tokens := b[HeaderBytes:]
	r.State = state
	r.Fingerprint = tokens[:fingerprintBytes:fingerprintBytes]
	r.Owner = tokens[fingerprintBytes : fingerprintBytes+ownerBytes : fingerprintBytes+ownerBytes]
	r.Result = tokens[fingerprintBytes+ownerBytes:]
	return true
}
