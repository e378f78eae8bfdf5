package wal

// Salvage hands every record of every whole frame of the log in o.Dir to
// visit, in LSN order, wherever the frame is: also behind places where the log
// is bad. Nothing says that none is missing between two of them, or behind the
// last. Segments whose header is unreadable, or that o.LogID says belong
// elsewhere, are left out. It changes nothing.
func Salvage(o Options, visit func(f *Found) error) error {
	o.setDefaults()
	r := &recovery{o: o}
	defer r.closeFiles()
	found, err := r.listSegments()
	if err != nil {
		return err
	}
	for _, s := range found {
		file, err := r.openFile(s.name)
		switch {
		case isDamage(err):
			continue
		case err != nil:
			return err
		case o.LogID != 0 && file.header.logID != o.LogID:
			continue
		}
		var stopped error
		err = eachWholeFrame(file, segmentHeaderBytes, func(f *frame, _ bool) bool {
			stopped = r.salvage(file, f, visit)
			return stopped == nil
		})
		if err != nil {
			return r.readError(file, 0, err)
		}
		if stopped != nil {
			return stopped
		}
	}
	return nil
}

// salvage hands on the records of f that come behind the last one.
func (r *recovery) salvage(file *segmentFile, f *frame, visit func(f *Found) error) error {
	records := newRecordReader(&f.frameHeader, f.payload)
	for f.records > 0 {
		lsn, t, payload, ok, err := records.next()
		if !ok || err != nil {
			break
		}
		if lsn <= r.last {
			continue
		}
		r.last = lsn
		if err := visit(&Found{Segment: file.name, Offset: f.offset, LSN: lsn, TMilli: t, Payload: payload}); err != nil {
			return err
		}
	}
	return nil
}

// behindBadPlace is for a log whose good beginning, files begin to next, holds
// nothing from FirstLSN on. If whole frames that follow each other lead over
// that record, the log begins with them: every record that is needed is there
// and says itself which one it is. Otherwise the good beginning stays, if it
// is of use. It returns the first segment behind what stays.
func (p *repairPlan) behindBadPlace(begin, next int) (int, error) {
	useless, reach := p.useless(begin, next), p.o.FirstLSN
	if useless {
		reach-- // it proves that nothing is lost
	}
	from, beginsLSN, err := p.stretch(reach)
	if err != nil {
		return 0, err
	}
	if beginsLSN > 0 {
		p.keepNothing()
		better, err := p.keepGood(from)
		if err != nil {
			return 0, err
		}
		// Checksums are not all that makes a frame good.
		if !p.useless(from.file, better) && p.last >= reach {
			p.beginsLSN = beginsLSN
			for _, f := range p.all[:from.file] {
				p.taken = append(p.taken, f.segmentFile)
			}
			return better, nil
		}
		if !useless {
			p.keepNothing()
			return p.keepGood(place{begin, segmentHeaderBytes})
		}
	}
	if !useless {
		return next, nil
	}
	p.keepNothing()
	p.fresh, p.last, p.unreadable = true, p.o.FirstLSN-1, true
	return 0, nil
}

// keepNothing forgets what was read.
func (p *repairPlan) keepNothing() {
	p.cuts, p.open, p.report, p.unreadable = nil, nil, Report{}, false
	p.last, p.lastT, p.ended = 0, 0, false
}

// stretch finds the whole frames that follow each other in one segment, begin
// with a record up to FirstLSN and get as far as reach: where the first one is
// and what it begins with, 0 when there are none.
func (p *repairPlan) stretch(reach LSN) (from place, beginsLSN LSN, err error) {
	if p.o.FirstLSN == 1 {
		return from, 0, nil // a log that is complete by itself has its beginning
	}
	for i, f := range p.all {
		if f.bad != nil || p.o.LogID != 0 && f.header.logID != p.o.LogID {
			continue
		}
		ok := false
		err = eachWholeFrame(f.segmentFile, segmentHeaderBytes, func(fr *frame, first bool) bool {
			if first {
				from, beginsLSN = place{i, fr.offset}, fr.firstLSN
			}
			ok = beginsLSN <= p.o.FirstLSN && fr.firstLSN+LSN(fr.records) > reach
			return !ok
		})
		if err != nil {
			return from, 0, p.readError(f.segmentFile, from.offset, err)
		}
		if ok {
			return from, beginsLSN, nil
		}
	}
	return from, 0, nil
}

// eachWholeFrame calls f with every whole frame of a segment from offset on,
// wherever it begins, until f returns false. first says that it does not
// follow the one before.
func eachWholeFrame(file *segmentFile, offset int64, f func(fr *frame, first bool) bool) error {
	r := frameReader{file: file.file, size: file.size, salt: file.header.salt, offset: offset}
	for {
		first := r.want == position{}
		fr, err := r.next()
		switch {
		case err == nil:
			if !f(&fr, first) {
				return nil
			}
		case !isDamage(err):
			return err
		case !first: // perhaps whole, but not the next one
			r.want = position{}
		default:
			if r.offset, err = nextSalt(file, r.offset+1); err != nil || r.offset == 0 {
				return err
			}
		}
	}
}
