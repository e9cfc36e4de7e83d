//go:build linux

package main

import (
	"fmt"
	"strings"
)

// page writes the rows as Markdown.
func (b *suite) page(command string) string {
	var s strings.Builder
	fmt.Fprintf(&s, `# Benchmarks

Generated session files (see internal/corpus), this build and its peers measured in turns in one run; medians.
Times are of whole processes, the check for new bytes included, on warm files.

- machine: %s
- command: `+"`%s`"+`
- peers: ripgrep on the same bytes (`+"`rg -c -F --no-ignore --hidden`"+`); SQLite FTS5 (the sqlite3 program, contentless, unicode61, WAL,
  synchronous=off) importing the same texts; encoding/json decoding the same bytes
`, machine(), command)
	if len(b.missing) > 0 {
		fmt.Fprintf(&s, "- not installed, so left out: %s\n", strings.Join(b.missing, ", "))
	}
	s.WriteString("\n| MB | what | here | peer | ratio | wanted |\n|---|---|---|---|---|---|\n")
	for _, r := range b.rows {
		fmt.Fprintf(&s, "| %d | %s | %s | %s | %s | %s |\n", r.mb, r.what, r.here, r.peer, r.ratio, r.target)
	}
	return s.String()
}
