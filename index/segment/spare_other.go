//go:build !linux

package segment

// Spare does nothing on this system.
func Spare([]byte) {}
