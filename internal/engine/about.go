package engine

// KeepsLog says whether anything is kept on disk (appendonly).
func (e *Engine) KeepsLog() bool { return e.opts.Log }

// Shards is the number of shards that was asked for.
func (e *Engine) Shards() int { return e.opts.Shards }
