package entry

import (
	"bytes"
	"unsafe"

	"pigrep/internal/redact"
	"pigrep/internal/session"
)

// redact masks the texts of an entry, also in its JSON.
func (e *Entry) redact() {
	if e.Raw != nil {
		e.Raw = redact.JSON(e.Raw)
	}
	e.View.Diff = redact.Bytes(e.View.Diff)
	masked := make(map[place][]byte, len(e.Parts)) // blocks and parts share texts
	mask := func(text []byte) []byte {
		at := place{unsafe.SliceData(text), len(text)}
		if _, ok := masked[at]; !ok {
			masked[at] = redact.Bytes(text)
		}
		return masked[at]
	}
	for i := range e.Parts {
		e.Parts[i].Text = mask(e.Parts[i].Text)
	}
	for i := range e.View.Blocks {
		b := &e.View.Blocks[i]
		b.Text = mask(b.Text)
		if b.Call != nil {
			redactCall(b.Call)
		}
	}
	redact.Strings(e) // what is not a text of bytes
}

// place is where a text is in memory.
type place struct {
	first  *byte
	length int
}

func redactCall(c *session.Call) {
	c.Raw = redact.JSON(c.Raw)
	for i := range c.Arguments {
		a := &c.Arguments[i]
		if !a.Text {
			a.Value = redact.JSON(a.Value)
		} else if rule, ok := redact.Named(a.Name, string(a.Value)); ok {
			a.Value = []byte(redact.Mask(rule))
		} else {
			a.Value = redact.Bytes(a.Value)
		}
	}
	c.Diff = redact.Bytes(c.Diff)
	for i := range c.Edits {
		e := &c.Edits[i]
		before, after := redact.Bytes(e.Old), redact.Bytes(e.New)
		if !bytes.Equal(before, e.Old) || !bytes.Equal(after, e.New) {
			c.Diff = nil // a secret of several lines is harder to find between numbers and signs
		}
		e.Old, e.New = before, after
	}
}
