package command

// Counters counts the outcomes of Hapax's own commands. Each loop owns one
// (Ctx.Count) and adds to it without atomics; the server sums them for INFO.
type Counters struct {
	IdemAcquired  int64 // BEGIN wrote a pending record
	IdemPending   int64
	IdemConflict  int64
	IdemCompleted int64 // BEGIN replayed a result
	IdemPublished int64 // COMPLETE wrote a result
	IdemRepeated  int64 // identical COMPLETE, answered 1 without a write
	IdemRefused   int64 // COMPLETE answered 0
	IdemErrors    int64
	OnceFirst     int64
	OnceRepeat    int64
	LimitAllowed  int64
	LimitDenied   int64
}

// Add adds o to c.
func (c *Counters) Add(o *Counters) {
	c.IdemAcquired += o.IdemAcquired
	c.IdemPending += o.IdemPending
	c.IdemConflict += o.IdemConflict
	c.IdemCompleted += o.IdemCompleted
	c.IdemPublished += o.IdemPublished
	c.IdemRepeated += o.IdemRepeated
	c.IdemRefused += o.IdemRefused
	c.IdemErrors += o.IdemErrors
	c.OnceFirst += o.OnceFirst
	c.OnceRepeat += o.OnceRepeat
	c.LimitAllowed += o.LimitAllowed
	c.LimitDenied += o.LimitDenied
}
