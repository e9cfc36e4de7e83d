//go:build !linux

package system

// MemoryLimit returns no limit: none is known.
func MemoryLimit() Memory { return Memory{} }
