// Package terminal says what the three streams of a process can do, and how wide text is
// on a terminal. It removes control sequences from untrusted text.
//
// It reads neither the environment nor the process's own streams: both come in
// as values.
package terminal

import (
	"fmt"
	"io"
	"os"
	"strconv"

	"golang.org/x/term"
)

// Streams are the streams of a process with their properties.
type Streams struct {
	In  io.Reader
	Out io.Writer
	Err io.Writer

	InTTY, OutTTY, ErrTTY bool

	// Width of the terminal in cells: of Out, or else of Err, or else DefaultWidth.
	Width int
	// Height of the terminal in lines, if Out is one; 0 if it is unknown.
	Height int
}

// DefaultWidth is used if the width is unknown.
const DefaultWidth = 80

// minWidth is the narrowest terminal that layouts are made for.
const minWidth = 20

// New describes the three files. The variable COLUMNS, if set to a number,
// overrides the width.
func New(in, out, errs *os.File, getenv func(string) string) *Streams {
	s := &Streams{In: in, Out: out, Err: errs, Width: DefaultWidth}
	s.InTTY, s.OutTTY, s.ErrTTY = isTerminal(in), isTerminal(out), isTerminal(errs)
	switch {
	case s.OutTTY:
		s.Width, s.Height = size(out)
	case s.ErrTTY:
		s.Width, _ = size(errs)
	}
	if n, err := strconv.Atoi(getenv("COLUMNS")); err == nil && n > 0 {
		s.Width = n
	}
	s.Width = max(s.Width, minWidth)
	return s
}

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

func size(f *os.File) (width, height int) {
	w, h, err := term.GetSize(int(f.Fd()))
	if err != nil || w <= 0 {
		return DefaultWidth, 0
	}
	return w, max(h, 0)
}

// When says when to colour output.
type When string

// The values of --color.
const (
	Auto   When = "auto"
	Always When = "always"
	Never  When = "never"
)

// ParseWhen returns the value of this name.
func ParseWhen(s string) (When, error) {
	switch w := When(s); w {
	case Auto, Always, Never:
		return w, nil
	}
	return Auto, fmt.Errorf("unknown colour setting %q: use auto, always or never", s)
}

// Colour decides whether a stream is coloured. If --color is auto, NO_COLOR with any
// value disables colours (no-color.org); otherwise FORCE_COLOR with any value but 0
// enables them, even in a pipe; otherwise a terminal that is not dumb is coloured.
//
// Only the sixteen basic colours are used, so there is no colour profile to detect.
func (w When) Colour(tty bool, getenv func(string) string) bool {
	switch {
	case w == Always:
		return true
	case w == Never, getenv("NO_COLOR") != "":
		return false
	case getenv("FORCE_COLOR") != "":
		return getenv("FORCE_COLOR") != "0"
	}
	return tty && getenv("TERM") != "dumb"
}
