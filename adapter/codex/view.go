package codex

import (
	"bytes"

	"pigrep/adapter"
	"pigrep/internal/session"
)

// View implements adapter.Viewer. It has the parts of the entry, and its images between them.
func (p *parser) View(e *session.Entry) *session.View {
	view := &session.View{Rejected: p.Facts.Rejected}
	kind := session.KindPrompt
	if e.Role == session.RoleToolResult {
		kind = session.KindResult
	}
	next := 0 // of the images
	images := func(before int) {
		for ; next < len(p.images) && p.images[next].at <= before; next++ {
			shown := e.Images[next]
			shown.Base64 = p.images[next].data
			view.Blocks = append(view.Blocks, session.Block{Kind: kind, Image: &shown})
		}
	}
	for i := range e.Parts {
		images(i)
		part := &e.Parts[i]
		b := session.Block{Kind: part.Kind, Text: part.Text}
		switch {
		case part.Kind == session.KindCall:
			b.Text, b.Call = nil, viewCall(&p.call, &p.Facts.Calls[0])
			view.Blocks = append(view.Blocks, b)
			for i := range p.inside {
				in := viewCall(&p.inside[i], &p.Facts.Calls[1+i])
				in.ID, in.Nested = "", true
				view.Blocks = append(view.Blocks, session.Block{Kind: session.KindCall, Call: in})
			}
			continue
		case part.Kind == session.KindShell && len(p.Facts.Calls) > 0:
			b.Text, b.Shell = p.viewShell(part.Text)
		case len(part.Text) == 0:
			continue
		}
		view.Blocks = append(view.Blocks, b)
	}
	images(len(e.Parts))
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
