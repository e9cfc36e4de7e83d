package index

// Settle waits for what Publish leaves running in the background.
func (w *Writer) Settle() { w.pruning.Wait() }
