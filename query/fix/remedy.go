package fix

import (
	"bytes"
	"context"
	"regexp"
	"slices"
	"strings"
	"sync"

	"pigrep/adapter"
	"pigrep/index"
	"pigrep/internal/lists"
	"pigrep/internal/session"
	"pigrep/query/engine/entry"
)

// A Remedy is how an error went away in an earlier session.
type Remedy struct {
	*Session
	Steps  []Call // that were made in between; none if another call than the one that failed succeeded
	Passed Call   // succeeded at last
}

// Failure is the output of a command that failed, or may have.
type Failure struct {
	Output string
	CWD    string // of the session
	Known  bool   // it did fail: what it printed last may be an error even if it does not say so
}

// mostSteps is how many calls a repair may take. Of more, nobody knows which one it was.
const mostSteps = 5

// Recall returns how the error of a command was repaired before; nil if no line says which error it is, or it is
// not known what repaired it. It would rather say nothing than quote another error: the line must be the same one,
// except for positions, times and the directory of the project.
func Recall(ctx context.Context, r *index.Reader, a adapter.Adapter, src entry.Source, f Failure, req Request) (*Remedy, error) {
	if req.Text = f.line(); req.Text == "" {
		return nil, nil
	}
	res, err := Find(ctx, r, a, src, req)
	if err != nil {
		return nil, err
	}
	wanted := steady(req.Text, f.CWD)
	for i := range res.Sessions {
		s := &res.Sessions[i]
		lines := lists.Map(strings.Split(s.Error.Text, "\n"), func(line string) string { return steady(line, s.CWD) })
		if x := s.remedy(); x != nil && slices.Contains(lines, wanted) {
			return x, nil
		}
	}
	return nil, nil
}

// line returns the line that says which error it is, "" if none does.
func (f *Failure) line() string {
	output := []byte(f.Output[max(0, len(f.Output)-MaxText):])
	for _, at := range errorLine().FindAllIndex(output, -1) {
		line, _, _ := bytes.Cut(bytes.TrimSpace(output[at[0]:]), []byte("\n"))
		if isError(line) {
			return string(line)
		}
	}
	if last := []byte(ErrorLine(output)); f.Known && isError(last) {
		return string(last)
	}
	return ""
}

func isError(line []byte) bool {
	words, _ := Identity(string(line))
	return words != "" && !anyError().Match(line)
}

// anyError matches a line that says no more than that a program failed.
var anyError = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)^\W*(?:npm err(?:or|!)|.*make\S*: \*\*\*|(?:--- )?FAIL\b|(?:\S+: )?(?:error|fatal)?:? *(?:script|recipe|command|process|task|target|test|build|compilation|job)\b.{0,40} (?:failed|exited|completed|aborted|timed out|killed|terminated|interrupted|cancell?ed)|.*\bexit(?:ed)?(?: with)? (?:code|status)|.*\b(?:script|hook|command|build|tests?) failed\b.{0,20}$|.*\bprevious errors?$|.*aborting due to)`)
})

// Between two occurrences of an error, these may differ in a line.
var (
	colours = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\x1b\[[\d;]*[A-Za-z]`) })
	placed  = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(?:[^\s(:'"]*/)?([^\s(:/'"]*[A-Za-z][^\s(:/'"]*)(?:\(\d+,\d+\)|:\d+(?::\d+)?)(:? )`)
	})
	unsteady = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\b(?:\d{4}-\d\d-\d\d[T ])?\d\d:\d\d:\d\d(?:[.,]\d+)?Z?\b|\b\d+(?:\.\d+)?(?:ms|s|m\d+s)\b|\b0x[[:xdigit:]]+|\b(?:line|column|pid|process) \d+|:\d+:\d+\b`)
	})
)

// steady returns what is the same in each occurrence of an error in a project.
func steady(line, cwd string) string {
	line = strings.TrimSpace(colours().ReplaceAllString(line, ""))
	if cwd = strings.TrimRight(cwd, "/"); cwd != "" {
		line = regexp.MustCompile(`(^|[^\w./-])`+regexp.QuoteMeta(cwd)+"/").ReplaceAllString(line, "$1")
	}
	return unsteady().ReplaceAllString(placed().ReplaceAllString(line, "$1$2"), "·")
}

// remedy returns the calls that repaired the error for good; nil if it is not known which did.
func (s *Session) remedy() *Remedy {
	if s.Outcome != Fixed || s.Later > 0 || s.Error.Kind == session.KindPrompt || s.failed == "" {
		return nil
	}
	x, passed := Remedy{Session: s}, false
	for _, c := range s.Calls {
		switch {
		case c.Again && c.Status == "ok":
			x.Passed, passed = c, true
		case c.Again && c.Status == "error":
			x.Steps = nil // what was tried before did not help
		case c.Status == "ok" && !passed:
			x.Steps = append(x.Steps, c)
		}
	}
	if !passed || len(x.Steps) > mostSteps || len(x.Steps) == 0 && x.Passed.Text == s.failed {
		return nil
	}
	return &x
}
