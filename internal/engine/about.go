package engine

// KeepsLog says whether anything is kept on disk (appendonly).
func (e *Engine) KeepsLog() bool { return e.opts.Log }
