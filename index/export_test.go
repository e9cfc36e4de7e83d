package index

// Settle waits for what Publish does after it returned.
func (w *Writer) Settle() { w.pruning.Wait() }
