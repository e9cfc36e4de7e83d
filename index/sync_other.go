//go:build !unix

package index

// syncDir does nothing where directories cannot be synced.
func syncDir(string) error { return nil }
