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
	"strconv"
	"strings"

	"github.com/aymanbagabas/go-udiff/lcs"

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
		return changed(a, b, middle(a, b))
	}
	return changed(a, b, lcs.DiffLines(a, b))
}

// changed returns the hunks of the changes that make b of a.
func changed(a, b []string, changes []lcs.Diff) []Hunk {
	run := make([]Line, 0, len(a)+len(b))
	add := func(kind Kind, list []string) {
		for _, s := range list {
			run = append(run, Line{Kind: kind, Text: s})
		}
	}
	at := 0
	for _, d := range changes {
		add(Same, a[at:d.Start])
		add(Removed, a[d.Start:d.End])
		add(Added, b[d.ReplStart:d.ReplEnd])
		at = d.End
	}
	add(Same, a[at:])
	number(run, 1, 1)
	return hunks(run)
}

// middle returns one change: of everything between the common beginning and end of a and b.
func middle(a, b []string) []lcs.Diff {
	same := 0 // at the beginning
	for same < min(len(a), len(b)) && a[same] == b[same] {
		same++
	}
	endA, endB := len(a), len(b)
	for endA > same && endB > same && a[endA-1] == b[endB-1] {
		endA, endB = endA-1, endB-1
	}
	return []lcs.Diff{{Start: same, End: endA, ReplStart: same, ReplEnd: endB}}
}

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

// parse parses a diff that a tool recorded: a unified diff, a patch envelope ("*** Begin
// Patch"), numbered lines, or lines with signs only. It returns nil for any other text.
func parse(s string) []File {
	s = strings.TrimSuffix(strings.ReplaceAll(s, "\r\n", "\n"), "\n")
	if s == "" {
		return nil
	}
	list := strings.Split(s, "\n")
	switch {
	case strings.HasPrefix(s, "*** Begin Patch"), slices.ContainsFunc(list, isHunkHead):
		return parseUnified(list)
	case !slices.ContainsFunc(list, func(l string) bool { _, _, _, ok := cutNumber(l); return !ok && !isLeftOut(l) }):
		return parseNumbered(list)
	case !slices.ContainsFunc(list, func(l string) bool { return l != "" && l != "@@" && !strings.ContainsAny(l[:1], "+- ") }):
		return parseUnified(list)
	}
	return nil
}

// cutNumber splits a line such as "+ 12 text" into its sign, line number and text.
func cutNumber(s string) (kind Kind, n int, text string, ok bool) {
	if s == "" || !strings.ContainsAny(s[:1], "+- ") {
		return 0, 0, "", false
	}
	rest := strings.TrimLeft(s[1:], " ")
	digits := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
	if digits == 0 || digits == len(rest) || rest[digits] != ' ' && rest[digits] != '|' {
		return 0, 0, "", false
	}
	number, err := strconv.ParseInt(rest[:digits], 10, 32)
	return Kind(s[0]), int(number), rest[digits+1:], err == nil
}

// isLeftOut reports whether a line marks omitted unchanged lines.
func isLeftOut(s string) bool { return s != "" && s[0] == ' ' && strings.TrimLeft(s, " ") == "..." }

func isHunkHead(s string) bool {
	before, after := hunkStart(s)
	return before > 0 || after > 0
}

// hunkStart returns the numbers in a line such as "@@ -12,4 +12,5 @@".
func hunkStart(s string) (before, after int) {
	f := strings.Fields(s)
	if len(f) < 4 || f[0] != "@@" || f[1][0] != '-' || f[2][0] != '+' || f[3] != "@@" {
		return 0, 0
	}
	number := func(s string) int {
		s, _, _ = strings.Cut(s[1:], ",")
		n, err := strconv.ParseInt(s, 10, 32)
		if err != nil {
			return 0
		}
		return int(n)
	}
	return number(f[1]), number(f[2])
}

// parseNumbered parses numbered lines. Unchanged lines carry their old number.
func parseNumbered(list []string) []File {
	var f File
	var run []Line
	shift := 0 // lines added less lines removed so far
	flush := func() {
		renumber(run)
		for _, h := range hunks(run) {
			f.add(h)
		}
		run = nil
	}
	for _, s := range list {
		kind, n, text, ok := cutNumber(s)
		if !ok {
			flush()
			continue
		}
		l := Line{Kind: kind, Text: text}
		switch l.Kind {
		case Added:
			l.New = n
			shift++
		case Removed:
			l.Old = n
			shift--
		case Same:
			l.Old, l.New = n, max(0, n+shift)
		}
		run = append(run, l)
	}
	flush()
	return []File{f}
}

// renumber counts back from the first change: early versions of pi numbered the unchanged
// lines above it from 1.
func renumber(run []Line) {
	first := 0
	for first < len(run) && run[first].Kind == Same {
		first++
	}
	if first == 0 || first == len(run) {
		return
	}
	above, l := &run[first-1], &run[first]
	by := l.Old - 1 - above.Old
	if l.Kind == Added {
		by = l.New - 1 - above.New
	}
	for i := range run[:first] {
		run[i].Old, run[i].New = max(0, run[i].Old+by), max(0, run[i].New+by)
	}
}

// parseUnified parses a unified diff, a patch envelope, or hunks without headers.
func parseUnified(list []string) []File {
	var files []File
	var run []Line
	before, after := 0, 0 // the numbers of the first line of the run, 0 if unknown
	flush := func() {
		if before > 0 || after > 0 {
			number(run, max(before, 1), max(after, 1))
		}
		if len(files) == 0 && len(run) > 0 {
			files = append(files, File{})
		}
		for _, h := range hunks(run) {
			files[len(files)-1].add(h)
		}
		run, before, after = nil, 0, 0
	}
	begin := func(path string) {
		flush()
		files = append(files, File{Path: path})
	}
	for i := 0; i < len(list); i++ {
		s := list[i]
		switch {
		case strings.HasPrefix(s, "--- ") && i+1 < len(list) && strings.HasPrefix(list[i+1], "+++ "):
			i++
			begin(fileName(s[4:], list[i][4:]))
		case strings.HasPrefix(s, "*** "):
			for _, verb := range []string{"Add", "Update", "Delete"} {
				if path, ok := strings.CutPrefix(s, "*** "+verb+" File: "); ok {
					begin(path)
					f := &files[len(files)-1]
					f.Whole, f.Deleted = verb == "Add", verb == "Delete"
				}
			}
		case strings.HasPrefix(s, "@@"):
			flush()
			before, after = hunkStart(s)
		case s == "":
			run = append(run, Line{Kind: Same})
		case strings.ContainsAny(s[:1], "+- "):
			run = append(run, Line{Kind: Kind(s[0]), Text: s[1:]})
		}
	}
	flush()
	return files
}

// fileName picks one of the two file names in a unified diff and removes the prefix that
// git adds.
func fileName(before, after string) string {
	before, _, _ = strings.Cut(before, "\t") // a time
	after, _, _ = strings.Cut(after, "\t")
	if after == "/dev/null" {
		return strings.TrimPrefix(before, "a/")
	}
	return strings.TrimPrefix(after, "b/")
}

// hunks splits adjacent lines into hunks, leaving out unchanged lines that are far
// from a change.
func hunks(run []Line) []Hunk {
	var all []Hunk
	start, end := 0, 0 // of the open hunk in run
	for i := range run {
		if run[i].Kind == Same {
			continue
		}
		if from := max(0, i-Context); end == 0 || from > end {
			if end > 0 {
				all = append(all, Hunk{run[start:end:end]})
			}
			start = from
		}
		end = min(len(run), i+1+Context)
	}
	if end > 0 {
		all = append(all, Hunk{run[start:end:end]})
	}
	return all
}

// Match returns for each line of b the number of the line of a that it is, -1 for a new one. Lines keep
// their order. Of texts that differ very much, fewer lines are matched than could be.
func Match(a, b []string) []int {
	m := make([]int, len(b))
	from, to := 0, 0
	for _, d := range append(lcs.DiffLines(a, b), lcs.Diff{Start: len(a), End: len(a), ReplStart: len(b), ReplEnd: len(b)}) {
		for k := to; k < d.ReplEnd; k++ {
			if m[k] = -1; k < d.ReplStart {
				m[k] = from + k - to
			}
		}
		from, to = d.End, d.ReplEnd
	}
	return m
}
