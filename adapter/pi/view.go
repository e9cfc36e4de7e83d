package pi

import (
	"bytes"
	"slices"
	"strings"

	"pigrep/adapter"
	"pigrep/internal/session"
)

// View implements adapter.Viewer.
func (p *parser) View(e *session.Entry) *session.View {
	view := p.LineParser.View(e)
	switch {
	case e.Type == session.TypeCompaction:
		view.TokensBefore, _ = p.JSON.Int(p.All.Find("tokensBefore"))
	case e.Role == session.RoleCompactionSummary, e.Role == session.RoleBranchSummary:
		view.TokensBefore, _ = p.JSON.Int(p.message.Find("tokensBefore"))
	case e.Role == session.RoleShell:
		s := &session.Shell{Command: p.JSON.String(p.typed()), Cancelled: p.JSON.IsTrue(p.message.Find("cancelled"))}
		s.ExitCode, s.HasExit = p.JSON.Int(p.message.Find("exitCode"))
		others := slices.DeleteFunc(view.Blocks, func(b session.Block) bool { return b.Kind == session.KindShell })
		view.Blocks = append([]session.Block{{Kind: session.KindShell, Text: p.JSON.Text(p.message.Find("output")), Shell: s}}, others...)
	case e.Role == session.RoleToolResult:
		p.viewDiff(view)
	}
	return view
}

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

// viewDiff moves the diff in the details of a result out of them.
func (p *parser) viewDiff(view *session.View) {
	details := p.message.Find("details")
	fields := p.JSON.Fields(details)
	for _, name := range [...]string{"diff", "patch"} {
		if v := fields.Find(name); p.JSON.Kind(v) == '"' && isDiff(p.JSON.Text(v)) {
			view.Diff = p.JSON.Text(v)
			break
		}
	}
	if view.Diff == nil {
		return
	}
	p.Leaves.Begin(&p.JSON, p.JSON.Room(details.End-details.Start), false, nil)
	for _, other := range adapter.AppendOthers(nil, fields, nil, "diff", "patch") {
		p.Leaves.Add(other.Value, false)
	}
	rest, isDetails := p.JSON.Keep(p.Leaves.End()), func(b session.Block) bool { return b.Kind == session.KindDetails }
	if i := slices.IndexFunc(view.Blocks, isDetails); i >= 0 && len(rest) > 0 {
		view.Blocks[i].Text = rest
		return
	}
	if view.Blocks = slices.DeleteFunc(view.Blocks, isDetails); len(rest) > 0 {
		view.Blocks = append(view.Blocks, session.Block{Kind: session.KindDetails, Text: rest})
	}
}
