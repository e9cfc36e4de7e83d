// Package diff computes which lines a tool call removed from files and added to them. It
// does no layout: each printer renders the same data in its own way.
//
//	for _, f := range diff.Of(call) { // a file of the call; none if it edits no file
//		head(f.Path, f.Added, f.Removed)
//		for _, h := range f.Hunks { // between hunks there is a gap
//			for _, l := range h.Lines {
//				line(l.Kind, l.New, l.Text) // l.Kind is ' ', '+' or '-'
//			}
//		}
//	}
//
// Paths and texts come from the session unchanged: printers must clean or escape them.
package diff

import (
	"fmt"
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"pigrep/internal/session"
)

// Context is the number of unchanged lines that are kept on each side of a change.
const Context = 3

// Texts beyond one of these limits are not compared line by line: everything between
// their common beginning and end counts as removed and added.
const (
	maxBytes = 4 << 20
	maxLines = 40_000
)

// File is what happened to one file.
type File struct {
	Path           string // as the call has it; "" if it has none
	Whole          bool   // the added lines are the whole file
	Deleted        bool
	Hunks          []Hunk
	Added, Removed int // lines
}

// Hunk is a run of adjacent lines.
type Hunk struct{ Lines []Line }

// Line is a line of a hunk.
type Line struct {
	Kind     Kind
	Text     string // without its newline
	Old, New int    // line numbers before and after, from 1; 0 if unknown or none
}

// Kind says what happened to a line. It is the sign before the line in a unified diff.
type Kind byte

// The kinds of lines.
const (
	Same    Kind = ' '
	Added   Kind = '+'
	Removed Kind = '-'
)

// Of returns what a call did to files, as recorded by its tool or else computed from its
// arguments. It returns nil for a call that edits no file.
func Of(c *session.Call) []File {
	if len(c.Diff) > 0 {
		if files := recorded(c); len(files) > 0 {
			return files
		}
	}
	var files []File
	for i := range c.Edits {
		e := &c.Edits[i]
		if n := len(files); n == 0 || files[n-1].Path != e.Path || e.Whole || files[n-1].Whole {
			files = append(files, File{Path: e.Path, Whole: e.Whole})
		}
		f := &files[len(files)-1]
		for _, h := range compare(string(e.Old), string(e.New)) {
			if !e.Whole { // its position in the file is unknown
				for i := range h.Lines {
					h.Lines[i].Old, h.Lines[i].New = 0, 0
				}
			}
			f.add(h)
		}
	}
	return files
}

// recorded parses the diff that a tool recorded. Only a diff that names its files can
// cover several.
func recorded(c *session.Call) []File {
	path := c.Path()
	several := false
	for i := range c.Edits {
		several = several || c.Edits[i].Path != c.Edits[0].Path
		path = c.Edits[0].Path
	}
	files := slices.DeleteFunc(parse(string(c.Diff)), func(f File) bool { return f.Added+f.Removed == 0 && !f.Deleted })
	for i := range files {
		f := &files[i]
		if f.Path == "" {
			if several {
				return nil
			}
			f.Path = path
		}
	}
	return files
}

func (f *File) add(h Hunk) {
	for i := range h.Lines {
		switch h.Lines[i].Kind {
		case Added:
			f.Added++
		case Removed:
			f.Removed++
		}
	}
	f.Hunks = append(f.Hunks, h)
}

// compare returns the hunks between two texts, with the numbers of lines in them.
func compare(before, after string) []Hunk {
	a, b := lines(before, after), lines(after, before)
	if len(a) == 0 || len(b) == 0 || len(before)+len(after) > maxBytes || len(a)+len(b) > maxLines {
		return replace(a, b)
	}
	from := text(a)
	unified, err := udiff.ToUnifiedDiff("", "", from, udiff.Lines(from, text(b)), Context)
	if err != nil {
		panic(err) // its own edits do not fit its own text
	}
	hunks := make([]Hunk, 0, len(unified.Hunks))
	for _, h := range unified.Hunks {
		hunk := Hunk{Lines: make([]Line, 0, len(h.Lines))}
		for _, l := range h.Lines {
			hunk.Lines = append(hunk.Lines, Line{Kind: kinds[l.Kind], Text: strings.TrimSuffix(l.Content, "\n")})
		}
		number(hunk.Lines, h.FromLine, h.ToLine)
		hunks = append(hunks, hunk)
	}
	return hunks
}

// replace returns a hunk that replaces everything between the common beginning and end
// of a and b; none if they are equal.
func replace(a, b []string) []Hunk {
	same := 0 // at the beginning
	for same < min(len(a), len(b)) && a[same] == b[same] {
		same++
	}
	endA, endB := len(a), len(b)
	for endA > same && endB > same && a[endA-1] == b[endB-1] {
		endA, endB = endA-1, endB-1
	}
	if same == endA && same == endB {
		return nil
	}
	from, to := max(0, same-Context), min(len(a), endA+Context)
	h := Hunk{Lines: make([]Line, 0, to-from+endB-same)}
	add := func(kind Kind, list []string) {
		for _, s := range list {
			h.Lines = append(h.Lines, Line{Kind: kind, Text: s})
		}
	}
	add(Same, a[from:same])
	add(Removed, a[same:endA])
	add(Added, b[same:endB])
	add(Same, a[endA:to])
	number(h.Lines, from+1, from+1)
	return []Hunk{h}
}

var kinds = map[udiff.OpKind]Kind{udiff.Equal: Same, udiff.Insert: Added, udiff.Delete: Removed}

// lines splits a text into lines. A trailing newline counts as a line only if the other
// text lacks one: then the edit adds or removes it.
func lines(s, other string) []string {
	if s == "" {
		return nil
	}
	if other == "" || strings.HasSuffix(other, "\n") {
		s = strings.TrimSuffix(s, "\n")
	}
	all := strings.Split(s, "\n")
	for i := range all {
		all[i] = strings.TrimSuffix(all[i], "\r")
	}
	return all
}

func text(lines []string) string { return strings.Join(lines, "\n") + "\n" }

// number numbers lines, starting at these numbers.
func number(list []Line, before, after int) {
	for i := range list {
		l := &list[i]
		if l.Kind != Added {
			l.Old = before
			before++
		}
		if l.Kind != Removed {
			l.New = after
			after++
		}
	}
}

// Unified returns the hunks as a unified diff without file names. Hunks have headers if
// line numbers are known. clean makes text safe to print.
func (f *File) Unified(clean func(string) string) string {
	var b strings.Builder
	for i, h := range f.Hunks {
		if before, after := h.span(before), h.span(after); before != "" && after != "" {
			fmt.Fprintf(&b, "@@ -%s +%s @@\n", before, after)
		} else if i > 0 {
			b.WriteString("@@\n")
		}
		for _, l := range h.Lines {
			b.WriteByte(byte(l.Kind))
			b.WriteString(clean(l.Text))
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// before and after return the number of a line on that side, and whether it exists
// there.
func before(l *Line) (int, bool) { return l.Old, l.Kind != Added }
func after(l *Line) (int, bool)  { return l.New, l.Kind != Removed }

// span returns the first line and the number of lines on one side, as in the header of a
// hunk; "" if they are unknown.
func (h Hunk) span(side func(*Line) (int, bool)) string {
	first, count := 0, 0
	for i := range h.Lines {
		n, there := side(&h.Lines[i])
		switch {
		case !there:
			continue
		case n == 0:
			return ""
		case count == 0:
			first = n
		}
		count++
	}
	return fmt.Sprintf("%d,%d", first, count)
}
