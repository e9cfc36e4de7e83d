package terminal

import (
	"bytes"
	"io"
	"regexp"
	"sync"
	"unicode/utf8"
)

// Guard removes control codes from text for a terminal. Newlines, tabs, and the styles and hyperlinks
// of the program itself may pass. Code that prints text from outside must clean it; Guard is there in
// case some code does not.
type Guard struct {
	Out    io.Writer
	Styles bool // attributes and colours (SGR) pass
	Links  bool // hyperlinks (OSC 8) pass

	rest []byte // the beginning of a character or a sequence at the end of the last piece
}

var (
	styleForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("^\x1b\\[[0-9;:]*m") })
	linkForm  = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile("^\x1b\\]8;[!-:<-~]*;((https?|mailto|file):[!-~]*)?\x07")
	})
	begunForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("^\x1b(\\[[0-9;:]*|\\]8?|\\]8;[!-~]*)?$") })
)

// Write implements io.Writer.
func (g *Guard) Write(p []byte) (int, error) {
	text := p
	if len(g.rest) > 0 {
		text = append(g.rest, p...)
	}
	passed := make([]byte, 0, len(text))
	g.rest = nil
	for len(text) > 0 {
		n := 0
		for n < len(text) && (text[n] >= ' ' && text[n] <= '~' || text[n] == '\n' || text[n] == '\t') {
			n++
		}
		if passed, text = append(passed, text[:n]...), text[n:]; len(text) == 0 {
			break
		}
		r, size := utf8.DecodeRune(text)
		switch {
		case !utf8.FullRune(text), r == 0x1b && len(text) < longestAddress+maxEscape && begunForm().Match(text):
			g.rest, size = bytes.Clone(text), len(text)
		case r == utf8.RuneError && size == 1:
			passed = append(passed, "\ufffd"...)
		case r == 0x1b || r == 0x9b || r == 0x9d:
			own := styleForm().Find(text)
			if !g.Styles || own == nil {
				if own = linkForm().Find(text); !g.Links {
					own = nil
				}
			}
			passed = append(passed, own...)
			if size = len(own); own == nil {
				size = escape(string(text[:min(len(text), maxEscape+2)]))
			}
		case !Hidden(r):
			passed = append(passed, text[:size]...)
		}
		text = text[size:]
	}
	if _, err := g.Out.Write(passed); err != nil {
		return 0, err
	}
	return len(p), nil
}
