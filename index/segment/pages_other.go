//go:build !linux

package segment

// dropPages does nothing on this system.
func dropPages([]byte) {}

// isSmall is true where there is nothing to unmap.
func isSmall() bool { return true }
