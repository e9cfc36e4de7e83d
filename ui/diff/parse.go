package diff

import (
	"slices"
	"strconv"
	"strings"
)

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
	case !slices.ContainsFunc(list, func(l string) bool { return !isNumbered(l) && !isLeftOut(l) }):
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

func isNumbered(s string) bool {
	_, _, _, ok := cutNumber(s)
	return ok
}

// isLeftOut reports whether a line marks omitted unchanged lines.
func isLeftOut(s string) bool { return s != "" && s[0] == ' ' && strings.TrimLeft(s, " ") == "..." }

// isHunkHead reports whether a line is the header of a hunk.
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
