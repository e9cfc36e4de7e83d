package session

import "strings"

// Slashed writes a path of any system with slashes. A session may have been recorded
// on another system than this one.
func Slashed(path string) string { return strings.ReplaceAll(path, `\`, "/") }
