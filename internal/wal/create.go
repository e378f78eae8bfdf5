package wal

import "fmt"

// createFirst begins a log. One that does not begin with segment 1 and record
// 1 gets a seal as its first frame: where it begins can be read back, and the
// segment without a frame that lost it is told from one that never had any.
func (r *recovery) createFirst() (*segment, error) {
	r.report.Segments = 1
	r.last = r.o.FirstLSN - 1
	r.report.LastLSN = r.last
	r.end, r.sealed = segmentHeaderBytes, true // nothing to prove
	r.report.LogID = r.o.LogID
	if r.report.LogID == 0 {
		r.report.LogID = r.o.salt()
	}
	h := segmentHeader{
		version: formatVersion, logID: r.report.LogID, seq: r.o.FirstSegment, salt: r.o.salt(),
		sizeBytes: uint64(min(r.o.SegmentBytes, firstSegmentBytes)),
	}
	var content func(w *chunkWriter) error
	if h.seq > 1 || r.o.FirstLSN > 1 {
		frame, fh := firstSeal(h.salt, r.o.FirstLSN)
		content = func(w *chunkWriter) error { return w.write(frame) }
		r.end += int64(len(frame))
		r.want = fh.after()
		r.report.Frames = 1
	}
	s, err := r.o.makeSegment(h, content, func() bool { return false })
	if err != nil {
		return nil, fmt.Errorf("first segment of the log: %w", err)
	}
	return s, nil
}

// firstSeal is frame 1 of a log whose first record will be first.
func firstSeal(salt uint64, first LSN) ([]byte, frameHeader) {
	frame := make([]byte, controlFrameBytes)
	frame[frameHeaderBytes] = controlSeal
	h := frameHeader{salt: salt, payloadBytes: 1, seq: 1, firstLSN: first, payloadCRC: checksum(frame[frameHeaderBytes:])}
	h.put(frame)
	return frame, h
}
