package prose

import "strings"

// CodeSpan is a line of text as inline code of Markdown.
func CodeSpan(s string) string {
	if s == "" {
		return "``"
	}
	mark := "`"
	for strings.Contains(s, mark) {
		mark += "`"
	}
	if len(mark) > 1 || strings.HasPrefix(s, "`") {
		return mark + " " + s + " " + mark
	}
	return mark + s + mark
}
