//go:build !windows

package cli

func isSystemClosedPipe(error) bool { return false }
