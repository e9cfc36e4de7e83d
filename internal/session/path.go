package session

import (
	"path"
	"strings"
)

// Slashed returns a path with slashes. A session may have been recorded on another
// system.
func Slashed(path string) string { return strings.ReplaceAll(path, `\`, "/") }

// Handle returns the name to show for a session, which commands accept: its id. For a file
// without a header it returns the id in the file name: ID in
// 2026-01-15T10-30-00-000Z_ID.jsonl.
func Handle(id, file string) string {
	if id != "" {
		return id
	}
	base := strings.TrimSuffix(path.Base(Slashed(file)), ".jsonl")
	return base[strings.LastIndexByte(base, '_')+1:]
}
