// Package audit answers what tools did and what it cost: tables of tools, shell
// commands and files, a list of calls, and sums of tokens and cost.
//
// It reads the facts that the index keeps of each session: one for each call of a
// tool, each use of tokens, and each file that a summary lists. Session files are
// read only for the arguments and results of listed calls, and to match the text of
// a request.
//
// Forks and imports copy entries. A fact counts once, in the session with the oldest
// header; the others are duplicates and only counted as such (Coverage.Copies). The
// auditor is the central type: it visits the facts of all sessions in the order of
// their headers, finds the duplicates, and applies the filters of a Request. The
// tables group what it visits by the dimensions of the request.
//
// The package imports query, which finds the calls that match a text, and everything
// below it. internal/shellcmd has the rules for commands and paths.
package audit

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"pigrep/internal/price"
	"pigrep/internal/redact"
	"pigrep/internal/session"
	"pigrep/internal/shellcmd"
	"pigrep/query/engine/filter"
	"pigrep/query/search"
)

// Request asks what tools did and what it cost. Of the Spec it uses the filters on
// sessions, tools, models, times and branches, and Error. The text, if there is one,
// picks calls: those that contain all its words.
type Request struct {
	Text string
	filter.Spec
	Env    filter.Env // clock and home directory for the fields in the text
	Limit  int        // calls that are listed; 0: all
	Redact bool       // mask what looks like a secret in the answer

	Location *time.Location `json:"-"` // time zone of days; nil: UTC
	By       []string       // the dimensions of a row
	Rejected bool           // only calls that the person did not let run
	Risky    bool           // only calls that match a rule
	Rules    []string       // only calls that match one of these rules
	Args     []ArgTest      // all must pass
	Commands bool           // only calls that run shell commands
	Results  bool           // list calls with the first lines of their results
	Prices   price.List     // for uses of tokens without a cost
	Rows     int            // of tokens and cost that are listed; 0: all
	Tree     bool           // what a subagent used counts for the session that it works for

	only    func(*session.Summary) bool // a further filter on sessions; nil for none
	sharing map[uint32]bool             // with only: the files that may have entries in common; nil: find out

	search.Among // with Together, a table has all rows, and the data for joining it with others
}

// Picks returns the search that finds the calls which the text picks.
func (r *Request) Picks() search.Request {
	req := search.Request{Text: r.Text, Spec: r.Spec, Env: r.Env}
	req.Kinds = []session.Kind{session.KindCall, session.KindShell}
	// The facts decide these, and know more than the documents do.
	req.Tools, req.Models, req.Error = nil, nil, false
	req.Since, req.Until = time.Time{}, time.Time{}
	return req
}

// The properties that group calls and uses of tokens.
var (
	CallDimensions  = append([]string{"tool", "action"}, shared...)
	UsageDimensions = append([]string{"block"}, shared...)

	shared = []string{"day", "week", "month", "model", "agent", "project", "session"}
)

// ArgTest tests one argument of a call.
type ArgTest struct {
	Name  string
	Match *regexp.Regexp
}

// Covered is what each table says beside its rows.
type Covered struct {
	Coverage Coverage
	search.About

	Held []search.Held `json:",omitempty"` // with Request.Together: the sessions that the answer is about
}

// Sums returns c itself: what several tables are added up by.
func (c *Covered) Sums() *Covered { return c }

// Coverage says which sessions an answer covers, and what it left out.
type Coverage struct {
	Sessions     int          `json:"sessions"`
	First        session.Time `json:"first,omitzero"` // of the oldest entry
	Last         session.Time `json:"last,omitzero"`  // of the newest entry
	SkippedLines int          `json:"skippedLines"`
	Copies       int          `json:"copies"`  // calls, or uses of tokens, that are duplicates of counted ones
	Changed      int          `json:"changed"` // files that were rewritten, or grew, since they were indexed
	Vanished     int          `json:"vanished"`
	New          int          `json:"new"` // files that are not indexed yet
}

// rules returns the rules; a call must match at least one of them. It returns 0 if a call need not
// match.
func (r *Request) rules() (set shellcmd.RuleSet, err error) {
	if r.Risky && len(r.Rules) == 0 {
		return shellcmd.AllRules, nil
	}
	for _, id := range r.Rules {
		i := slices.IndexFunc(shellcmd.Rules(), func(r shellcmd.Rule) bool { return r.ID == id })
		if i < 0 {
			return 0, fmt.Errorf("there is no rule %q", id)
		}
		set |= 1 << i
	}
	return set, nil
}

// mask masks the answer that a pointer points to, if the request says so.
func (r *Request) mask(answer any) {
	if r.Redact {
		redact.Strings(answer)
	}
}

// maskIfAsked returns a short text, with secrets masked if the request asks for that.
func (r *Request) maskIfAsked(s string) string {
	if !r.Redact {
		return s
	}
	return redact.Text(s)
}

// redact masks what looks like a secret in the row.
func (r *CallRow) redact() {
	r.SessionName = redact.Text(r.SessionName)
	if r.Cut {
		r.Arguments = redact.Beginning(r.Arguments)
	} else {
		r.Arguments = redact.Text(r.Arguments)
	}
	if len(r.Result) > 0 {
		r.Result = strings.Split(redact.Text(strings.Join(r.Result, "\n")), "\n")
	}
	redact.Strings(r) // the rest
}
