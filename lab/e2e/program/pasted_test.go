package program

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pigrep/lab/testkit"
)

// hasSyntax matches pieces of text that mean something in a query.
var hasSyntax = regexp.MustCompile(`^[!+~(-]|[~*)"]|^(AND|OR|NOT)$|^[a-zA-Z]+:`)

// Text that someone copies out of a session and pastes as a query finds the entry
// it was copied from, punctuation and all: single pieces, and phrases in quotes.
func TestPastedTextIsFound(t *testing.T) {
	w := everything(t)
	type source struct {
		path, id string
		object
		part
	}
	var own, others []source
	for _, f := range w.files {
		if w.records[f.path] == nil {
			continue
		}
		for _, o := range f.entries {
			id, _ := o.value["id"].(string)
			for _, p := range partsOf(o) {
				if s := (source{f.path, id, o, p}); strings.HasPrefix(w.show(f.path), "own") {
					own = append(own, s)
				} else {
					others = append(others, s)
				}
			}
		}
	}
	rng := rand.New(rand.NewPCG(5, 6))
	try := func(s source, query string) {
		// What is only the name of an argument is a looser hit.
		e, r := search(t, w.home, "--any", "--scope", "all", "--no-update", "--session-dir", w.root, "--index-dir", w.indexDir, "--", query)
		for _, h := range e.Hits {
			if len(h.Missing) > 0 && h.Tier != "name" {
				continue
			}
			if h.SessionPath == s.path && h.Offset == s.offset {
				return
			}
			for _, c := range h.Copies {
				if c.SessionPath == s.path && (c.EntryID == s.id || s.id == "") {
					return
				}
			}
		}
		if len(e.Hits) >= 1000 {
			return // only so many hits are shown
		}
		t.Errorf("%s does not find the %s of %s line %d it was copied from; exit code %d, %d hits, %d lack nothing\n%s\n%s",
			fmt.Sprintf("%q", query), s.kind, w.show(s.path), s.line, r.exit, len(e.Hits), e.Total, r.stderr, strings.Join(e.Warnings, "\n"))
	}
	sample := func(from []source, n int) {
		for range n {
			s := from[rng.IntN(len(from))]
			pieces := strings.Fields(s.text)
			if len(pieces) == 0 {
				continue
			}
			at := rng.IntN(len(pieces))
			if piece := pieces[at]; isPasted(piece) && !hasSyntax.MatchString(piece) {
				try(s, piece)
			}
			phrase := strings.Join(pieces[at:min(at+2+rng.IntN(4), len(pieces))], " ")
			if isPasted(phrase) && !strings.ContainsAny(phrase, `"\`) {
				try(s, `"`+phrase+`"`)
			}
		}
	}
	sample(own, testkit.HowMany(8, 30, 400))
	if len(others) > 0 {
		sample(others, testkit.HowMany(3, 12, 250))
	}
}

// isPasted leaves out what holds no word at all, and what nobody pastes.
func isPasted(s string) bool {
	return len(s) <= 200 && utf8.ValidString(s) && !strings.ContainsRune(s, utf8.RuneError) &&
		strings.ContainsFunc(s, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) &&
		!strings.ContainsFunc(s, unicode.IsControl)
}

// The session files of our own keep the bytes that they are there for, through
// every checkout.
func TestSessionBytesAreKept(t *testing.T) {
	for name, want := range map[string]string{
		"--home-dev-hostile--/invalid-utf8.jsonl": "left\xff\xfe\xfdright",
		"--home-dev-hostile--/bom-crlf.jsonl":     "}\r\n{",
		"--home-dev-hostile--/nuls.jsonl":         "\n\x00\x00\x00\x00{",
		"--home-dev-hostile--/u2028.jsonl":        "first\u2028second",
	} {
		f := readFile(t, filepath.Join(sessions(), filepath.FromSlash(name)))
		if !strings.Contains(f, want) {
			t.Errorf("%s no longer holds %q", name, want)
		}
	}
	for name, newline := range map[string]bool{"no-newline.jsonl": false, "unfinished.jsonl": false, "fused.jsonl": true} {
		if f := readFile(t, filepath.Join(sessions(), "--home-dev-hostile--", name)); strings.HasSuffix(f, "\n") != newline {
			t.Errorf("%s ends with %q", name, f[len(f)-5:])
		}
	}
}
