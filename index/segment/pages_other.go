//go:build !linux

package segment

func dropPages([]byte) {}

// isSmall is true where there is nothing to unmap.
func isSmall() bool { return true }
