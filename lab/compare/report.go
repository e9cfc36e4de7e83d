package main

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"

	"pigrep/lab/must"
)

// result is the outcome of one query.
type result struct {
	*query
	difference string    // empty when the answers are equal
	commands   [2]string // of both builds, as typed in a shell
}

// shownEach limits the differences shown for a command and corpus.
const shownEach = 3

// report counts results and prints differences as they arrive.
type report struct {
	out   io.Writer
	all   bool
	allow *regexp.Regexp // lines of queries whose differences are intended
	rows  []*tally
}

// tally is one row of the table.
type tally struct {
	corpus, command            string
	asked, different, intended int
}

func (r *report) add(t *tree, results []*result) {
	rows := map[string]*tally{}
	for _, res := range results {
		command := strings.Join(res.words, " ")
		row := rows[command]
		if row == nil {
			row = &tally{corpus: t.name, command: cmp.Or(command, "(none)")}
			rows[command] = row
			r.rows = append(r.rows, row)
		}
		row.asked++
		switch {
		case res.difference == "":
		case r.allow.MatchString(res.line()):
			row.intended++
		default:
			if row.different++; r.all || row.different <= shownEach {
				fmt.Fprintf(r.out, "different: %s\nold: %s\nnew: %s\n%s\n", res.line(), res.commands[0], res.commands[1], res.difference)
			}
		}
	}
}

// finish prints the table and reports whether nothing differs.
func (r *report) finish() bool {
	w := tabwriter.NewWriter(r.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "corpus\tcommand\tqueries\tequal\tdifferent\tintended")
	var sum tally
	for _, row := range r.rows {
		row.print(w)
		sum.asked, sum.different, sum.intended = sum.asked+row.asked, sum.different+row.different, sum.intended+row.intended
	}
	sum.corpus = "all"
	sum.print(w)
	w.Flush()
	return sum.different == 0
}

func (t *tally) print(w io.Writer) {
	fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%d\t%d\n", t.corpus, t.command, t.asked, t.asked-t.different-t.intended, t.different, t.intended)
}

// normalised lists what differs between two runs of the same build. It is replaced
// before answers are compared; everything else counts, the order of JSON fields
// included.
var normalised = []struct {
	why     string
	pattern *regexp.Regexp
	put     func(match string) string
}{
	{"--verbose prints times", regexp.MustCompile(`(?m)^time=\S+ level=`), constant("time=TIME level=")},
	{"--verbose prints times", regexp.MustCompile(`\btook=\S+`), constant("took=TIME")},
	{"searching and looking for changes go on side by side", regexp.MustCompile(`(?m)^.* msg="index compared.*\n`), constant("")},
	{"the number of batches depends on how the workers share the files", regexp.MustCompile(`"generations?":\d+`), constant(`"generation":0`)},
	{"the number of batches depends on how the workers share the files", regexp.MustCompile(`\bgeneration \d+`), constant("generation 0")},
	{"so does the size of the index, and status prints when it was written", regexp.MustCompile(`"sizeBytes":\d+,("newest":"[^"]*",)?"updated":"[^"]*"`), constant(`"sizeBytes":0`)},
	{"so does the size of the index, and status prints when it was written", regexp.MustCompile(`(?m)^(size|share|updated)\t.*$`), constant("size\t0")},
	{"a server names its version", regexp.MustCompile(`"serverInfo":\{[^}]*\}`), constant(`"serverInfo":{}`)},
	{"a cursor contains a random number of its index", regexp.MustCompile(`(Next page: cursor |"nextCursor":")[\w-]+`), plainCursor},
}

func constant(text string) func(string) string { return func(string) string { return text } }

var cursorIndex = regexp.MustCompile(`"[gr]":\d+,`)

// plainCursor decodes the position in a cursor and drops the generation, the
// random number and the checksum.
func plainCursor(match string) string {
	at := strings.LastIndexAny(match, ` "`) + 1
	data, err := base64.RawURLEncoding.DecodeString(match[at:])
	if err != nil {
		return match
	}
	position, _, _ := strings.Cut(string(data), "}")
	return match[:at] + cursorIndex.ReplaceAllString(position, "")
}

// normal returns an output with all that is normalised replaced, and the path of the
// index.
func (p *program) normal(text string) string {
	text = strings.ReplaceAll(text, p.index, "INDEX")
	for _, n := range normalised {
		text = n.pattern.ReplaceAllStringFunc(text, n.put)
	}
	return text
}

// difference describes how two answers differ; "" when they are equal.
func difference(old, new answer) string {
	var b strings.Builder
	if old.Code != new.Code {
		fmt.Fprintf(&b, "exit code %d, now %d\n", old.Code, new.Code)
	}
	for _, stream := range []struct{ name, old, new string }{{"stdout", old.Stdout, new.Stdout}, {"stderr", old.Stderr, new.Stderr}} {
		if stream.old != stream.new {
			fmt.Fprintf(&b, "%s\n%s", stream.name, unified(stream.old, stream.new))
		}
	}
	return b.String()
}

// Limits of what is shown of a difference.
const (
	around     = 3
	shownLines = 24
	shownRunes = 200
)

// unified returns a short diff around the first line that differs. JSON is
// indented first, one field a line, unless only its white space differs.
func unified(old, new string) string {
	a, b := layOut(old), layOut(new)
	if a == b {
		a, b = old, new
	}
	diff := must.Get(udiff.ToUnifiedDiff("", "", a, udiff.Lines(a, b), around))
	lines := diff.Hunks[0].Lines
	at := slices.IndexFunc(lines, func(l udiff.Line) bool { return l.Kind != udiff.Equal })
	var out strings.Builder
	fmt.Fprintf(&out, "@@ line %d @@\n", diff.Hunks[0].FromLine+at)
	from := firstDifference(lines[at:])
	for _, line := range lines[:min(len(lines), shownLines)] {
		mark := map[udiff.OpKind]string{udiff.Equal: " ", udiff.Delete: "-", udiff.Insert: "+"}[line.Kind]
		fmt.Fprintf(&out, "%s %s\n", mark, clip(line.Content, from))
		if mark != " " && !strings.HasSuffix(line.Content, "\n") {
			fmt.Fprintln(&out, "\\ no newline at the end")
		}
	}
	if more := len(lines) - shownLines; more > 0 {
		fmt.Fprintf(&out, "… %d more lines\n", more)
	}
	return out.String()
}

// firstDifference returns the byte from which the first line differs from the one that
// replaces it, 0 if none does.
func firstDifference(lines []udiff.Line) (at int) {
	i := slices.IndexFunc(lines, func(l udiff.Line) bool { return l.Kind == udiff.Insert })
	if i <= 0 || lines[0].Kind != udiff.Delete {
		return 0
	}
	a, b := lines[0].Content, lines[i].Content
	for at < len(a) && at < len(b) && a[at] == b[at] {
		at++
	}
	return at
}

// clip shortens a long line to the part around the byte at from.
func clip(line string, from int) string {
	line = strings.TrimSuffix(line, "\n")
	start := 0
	if from = min(from, len(line)); from > shownRunes/2 && len(line) > shownRunes {
		start = from - shownRunes/2
		for start > 0 && !utf8.RuneStart(line[start]) {
			start--
		}
	}
	text := line[start:]
	if start > 0 {
		text = "…" + text
	}
	if runes := []rune(text); len(runes) > shownRunes {
		text = string(runes[:shownRunes]) + "…"
	}
	return strings.NewReplacer("\x1b", "␛", "\r", "␍", "\x00", "␀").Replace(text)
}

// layOut indents the JSON objects in a text, be it the whole text or some of its lines.
func layOut(text string) string {
	if laid, ok := indent(text); ok {
		return laid
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		laid, _ := indent(line)
		b.WriteString(laid)
	}
	return b.String()
}

// indent returns a JSON object with a field on each line, another text as it is.
func indent(text string) (string, bool) {
	var laid bytes.Buffer
	if !strings.HasPrefix(text, "{") || json.Indent(&laid, []byte(text), "", "  ") != nil {
		return text, false
	}
	return laid.String(), true
}
