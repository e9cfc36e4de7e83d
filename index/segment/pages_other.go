//go:build !linux

package segment

// dropPages does nothing on this system.
func dropPages([]byte) {}
