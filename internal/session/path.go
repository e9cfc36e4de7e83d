package session

import "strings"

// Slashed returns a path with slashes. A session may have been recorded on another
// system.
func Slashed(path string) string { return strings.ReplaceAll(path, `\`, "/") }
