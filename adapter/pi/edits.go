package pi

import (
	"bytes"
	"strings"

	"pigrep/adapter"
	"pigrep/internal/session"
)

// isDiff reports whether a text is a diff: a unified one, or lines with signs.
func isDiff(text []byte) bool {
	if adapter.IsPatch(text) || bytes.Contains(text, []byte("\n@@ -")) {
		return true
	}
	for line := range bytes.SplitSeq(text, []byte("\n")) {
		if len(line) > 0 && !strings.ContainsRune("+- ", rune(line[0])) {
			return false
		}
	}
	return len(bytes.TrimSpace(text)) > 0
}

// viewDiff adds the diff in the details of a result, and the other details. It reports
// whether there is a diff.
func (p *parser) viewDiff(view *session.View) bool {
	details := p.message.fields.Find("details")
	fields := p.JSON.Fields(details)
	for _, name := range [...]string{"diff", "patch"} {
		if v := fields.Find(name); p.JSON.Kind(v) == '"' && isDiff(p.JSON.Text(v)) {
			view.Diff = p.JSON.Text(v)
			break
		}
	}
	if view.Diff == nil {
		return false
	}
	p.Leaves.Begin(&p.JSON, p.JSON.Room(details.End-details.Start), false, nil)
	for _, f := range fields {
		if name := string(f.Key); name != "diff" && name != "patch" {
			p.Leaves.Add(f.Val, false)
		}
	}
	if rest := p.JSON.Keep(p.Leaves.End()); len(rest) > 0 {
		view.Blocks = append(view.Blocks, session.Block{Kind: session.KindDetails, Text: rest})
	}
	return true
}
