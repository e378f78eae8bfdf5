package command

import (
	"github.com/hapaxkv/hapax/internal/idem"
	"github.com/hapaxkv/hapax/internal/shard"
)

// Errors of IDEM. When several apply, the first of this order is answered:
// number of arguments, action, fingerprint, owner, ttl or result, size of the
// record, type of the value, record.
var (
	errIdemAction      error = Error("ERR unknown IDEM action, must be BEGIN or COMPLETE")
	errIdemFingerprint error = Error("ERR IDEM fingerprint must have 1 to 128 bytes")
	errIdemOwner       error = Error("ERR IDEM owner must have 1 to 128 bytes")
	errIdemTTL         error = Error("ERR IDEM ttl must be 1 to 604800000 milliseconds")
	errIdemResult      error = Error("ERR IDEM result must have at most 4194304 bytes")
	errIdemSize        error = Error("ERR IDEM record exceeds maximum allowed size (proto-max-bulk-len)")
	errIdemRecord      error = Error("BADRECORD Key holds a string that is not an IDEM record with a deadline")
)

func idemCommand(c *Ctx) error {
	err := idemAction(c)
	if err != nil {
		c.Count.IdemErrors++
	}
	return err
}

func idemAction(c *Ctx) error {
	begin := Is(c.Args[2], "begin")
	switch {
	case !begin && !Is(c.Args[2], "complete"):
		return errIdemAction
	case !idem.TokenOK(c.Args[3]):
		return errIdemFingerprint
	case !idem.TokenOK(c.Args[4]):
		return errIdemOwner
	case begin:
		return idemBegin(c, c.Args[3], c.Args[4], c.Args[5])
	}
	return idemComplete(c, c.Args[3], c.Args[4], c.Args[5])
}

// idemStored fills s with the key's live value as the transitions see it.
func (c *Ctx) idemStored(s *idem.Stored) error {
	var v shard.Value
	found, err := c.readString(&c.Keys[0], &v)
	s.Live, s.Bytes, s.DeadlineMilli = found, v.Bytes, v.DeadlineMilli
	return err
}

func idemBegin(c *Ctx, fingerprint, owner, ttl []byte) error {
	ttlMilli, err := RangeArg(ttl, idem.MinTTLMilli, idem.MaxTTLMilli, errIdemTTL)
	if err != nil {
		return err
	}
	if int64(idem.Size(fingerprint, owner, nil)) > c.maxBulk() {
		return errIdemSize
	}
	var stored idem.Stored
	if err := c.idemStored(&stored); err != nil {
		return err
	}
	outcome, result, err := idem.Begin(&stored, fingerprint)
	if err != nil {
		return errIdemRecord
	}
	switch outcome {
	case idem.BeginAcquired:
		if c.Refused != nil {
			return c.Refused
		}
		c.Count.IdemAcquired++
		c.replyWord("acquired")
		pending := idem.Record{State: idem.Pending, Fingerprint: fingerprint, Owner: owner}
		return c.putIdem(&pending, idem.Deadline(c.NowMilli, ttlMilli))
	case idem.BeginPending:
		c.Count.IdemPending++
		c.replyWord("pending")
	case idem.BeginConflict:
		c.Count.IdemConflict++
		c.replyWord("conflict")
	case idem.BeginCompleted:
		c.Count.IdemCompleted++
		c.Out.Array(2)
		c.Out.BulkString("completed")
		c.replyBulk(&c.Keys[0], result)
	}
	return nil
}

// replyWord answers an array of one word.
func (c *Ctx) replyWord(word string) {
	c.Out.Array(1)
	c.Out.BulkString(word)
}

func idemComplete(c *Ctx, fingerprint, owner, result []byte) error {
	switch {
	case len(result) > idem.MaxResultBytes:
		return errIdemResult
	case int64(idem.Size(fingerprint, owner, result)) > c.maxBulk():
		return errIdemSize
	}
	var stored idem.Stored
	if err := c.idemStored(&stored); err != nil {
		return err
	}
	outcome, err := idem.Complete(&stored, fingerprint, owner, result)
	if err != nil {
		return errIdemRecord
	}
	switch outcome {
	case idem.CompletePublished:
		// Over maxmemory the result of an operation that was admitted is let
		// in: refused, it would be lost and the operation done again. New
		// operations are refused meanwhile, so this comes to an end.
		if c.Refused != nil && c.Refused != ErrOOM {
			return c.Refused
		}
		c.Count.IdemPublished++
		c.Out.Int(1)
		completed := idem.Record{State: idem.Completed, Fingerprint: fingerprint, Owner: owner, Result: result}
		return c.putIdem(&completed, stored.DeadlineMilli) // never longer than BEGIN said
	case idem.CompleteRepeated:
		c.Count.IdemRepeated++
		c.Out.Int(1)
	case idem.CompleteRefused:
		c.Count.IdemRefused++
		c.Out.Int(0)
	}
	return nil
}

// putIdem packs r and stores it with its deadline in one record (I3). The
// result goes from the request to the keyspace without a stop.
func (c *Ctx) putIdem(r *idem.Record, deadlineMilli int64) error {
	b := idem.AppendHead(c.Scratch[:0], r)
	err := c.Tx.PutIdemResult(&c.Keys[0], b, r.Result, deadlineMilli)
	c.keepScratch(b)
	return err
}

// liveRecord finds the record of ONCE or LIMIT. One without a deadline is bad.
func (c *Ctx) liveRecord(k *shard.Key, bad error) (record []byte, found bool, err error) {
	var v shard.Value
	found, err = c.readString(k, &v)
	if found && v.DeadlineMilli == 0 {
		return nil, false, bad
	}
	return v.Bytes, found, err
}
