package codex

import (
	"bytes"
	"slices"

	"pigrep/adapter"
	"pigrep/internal/session"
)

// View implements adapter.Viewer. A call is followed by those that it makes.
func (p *parser) View(e *session.Entry) *session.View {
	view := p.LineParser.View(e)
	for i := range view.Blocks {
		switch b := &view.Blocks[i]; {
		case b.Kind == session.KindCall:
			b.Text, b.Call = nil, viewCall(&p.call, &p.Facts.Calls[0])
		case b.Kind == session.KindShell && len(p.Facts.Calls) > 0:
			b.Text, b.Shell = p.viewShell(b.Text)
		}
	}
	for i := range p.inside {
		in := viewCall(&p.inside[i], &p.Facts.Calls[1+i])
		in.ID, in.Nested = "", true
		view.Blocks = slices.Insert(view.Blocks, 1+i, session.Block{Kind: session.KindCall, Call: in})
	}
	return view
}

// viewCall returns a call with these facts.
func viewCall(c *call, f *session.EntryCall) *session.Call {
	call := &session.Call{ID: c.id, Tool: c.tool, Deed: f.Deed, Command: f.Command}
	if c.scan == nil {
		call.Raw = c.text
		if len(c.text) > 0 {
			call.Arguments = []session.Argument{{Name: "input", Value: c.text, Text: true, Edits: c.patch != nil}}
		}
		call.Diff = c.patch
		return call
	}
	call.Raw = c.scan.Raw(c.arguments)
	call.Arguments = adapter.Arguments(c.scan, c.arguments)
	for i := range call.Arguments {
		if a := &call.Arguments[i]; c.patch != nil && isPatch(a.Name, f.Command) {
			a.Edits, call.Diff, call.Command = true, c.patch, nil
		}
	}
	return call
}

// isPatch reports whether an argument is a patch, or a command that does nothing but apply
// one.
func isPatch(name string, command []byte) bool {
	switch name {
	case "input", "patch":
		return true
	case "command", "cmd":
		return command == nil || bytes.HasPrefix(bytes.TrimSpace(command), []byte("apply"))
	}
	return false
}

// viewShell returns a command that a person ran, and its output.
func (p *parser) viewShell(text []byte) ([]byte, *session.Shell) {
	f := &p.Facts.Calls[0]
	s := &session.Shell{Command: string(f.Command)}
	if f.Exit != session.Unknown {
		s.ExitCode, s.HasExit = int64(f.Exit), true
	}
	return bytes.TrimPrefix(bytes.TrimPrefix(text, f.Command), []byte("\n")), s
}
