package wal

// Found is where Inspect is.
type Found struct {
	Segment string // file name
	Offset  int64  // of the frame
	LSN     LSN    // of the record
	TMilli  int64
	Payload []byte // borrowed
}

// Inspect reads the log in o.Dir as Open does, and changes nothing: it makes
// the same checks and returns the same errors, except that a torn tail is only
// reported. visit gets every record from o.FirstLSN on. With vfs.ReadOnly as
// o.FS it needs no right to write.
//
// A log that is in use may look torn at its end.
func Inspect(o Options, visit func(f *Found) error, progress func(done, total int64)) (Report, error) {
	o.setDefaults()
	if progress == nil {
		progress = func(int64, int64) {}
	}
	r := &recovery{o: o, progress: progress, tail: -1}
	defer r.closeFiles()
	var found Found
	r.apply = func(lsn LSN, tMilli int64, payload []byte) error {
		found = Found{Segment: r.files[r.at].name, Offset: r.atOffset, LSN: lsn, TMilli: tMilli, Payload: payload}
		return visit(&found)
	}
	err := r.readAll()
	if r.cutTo > 0 {
		r.report.CutBytes = r.cutTo - r.cutFrom
	}
	r.report.Files = r.details()
	return r.report, err
}

// SegmentInfo describes a segment that was read, or one older than needed.
type SegmentInfo struct {
	Name            string
	Seq             uint64
	FirstLSN        LSN // that it begins with; 0 when it has no frame
	Frames, Records int64
	UsedBytes       int64 // of frames; of a segment that was not read, its size
	SizeBytes       int64
	Skipped         bool // not read
}

func (r *recovery) details() []SegmentInfo {
	var out []SegmentInfo
	for _, s := range r.older {
		out = append(out, SegmentInfo{Name: segmentName(s.seq), Seq: s.seq, FirstLSN: s.first,
			UsedBytes: s.bytes, SizeBytes: s.bytes + segmentHeaderBytes, Skipped: true})
	}
	for _, f := range r.files {
		out = append(out, SegmentInfo{Name: f.name, Seq: f.header.seq, FirstLSN: f.first, Frames: f.frames,
			Records: f.records, UsedBytes: f.bytes, SizeBytes: f.size})
	}
	return out
}
