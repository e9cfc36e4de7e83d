package mcp

import (
	"slices"
	"strconv"
	"strings"

	"pigrep/index"
	"pigrep/internal/human"
	"pigrep/internal/redact"
	"pigrep/internal/session"
	"pigrep/internal/terminal"
	"pigrep/query/search"
)

// place names a session, or an entry of one, as input of read_session.
type place struct {
	Session string `json:"session,omitempty"`
	Entry   string `json:"entry,omitempty"`
}

func (p place) String() string {
	if p.Entry == "" {
		return p.Session
	}
	return p.Session + ":" + p.Entry
}

// ids names the sessions of an index.
type ids struct {
	session func(id, path string) string // the shortest name that read_session accepts
	masks   bool                         // mask secrets in rows of sessions
}

// wholeName returns a name of a session that stays valid: its id, or its path.
func wholeName(r *index.Reader, s *session.Summary) string {
	list := r.Summaries()
	if !session.IsTypable(s.ID) || slices.ContainsFunc(list, func(o session.Summary) bool { return o.ID == s.ID && o.Path != s.Path }) {
		return s.Path
	}
	return s.ID
}

func (n *ids) place(id, path, entry string) place { return place{n.session(id, path), entry} }

// sessionRow is what answers say about a session.
type sessionRow struct {
	Session  string `json:"session"`
	Title    string `json:"title,omitempty"`
	CWD      string `json:"cwd,omitempty"`
	Modified string `json:"modified,omitempty"`
	Messages int    `json:"messages"`
}

const longestTitle = 64 // bytes

func (n *ids) row(x *search.SessionHit) sessionRow {
	r := sessionRow{n.session(x.SessionID, x.SessionPath), beginning(x.Title, longestTitle), x.CWD, minute(x.Modified), x.Messages}
	if n.masks {
		redact.Strings(&r)
	}
	return r
}

func (r *sessionRow) text() string {
	return joined(" · ", r.Session, r.Modified, r.CWD, human.Plural(r.Messages, "message", "messages"), r.Title)
}

// atLeast is what is written before a number that may be larger.
func atLeast(inexact bool) string { return noted(inexact, "at least ") }

// joined joins the texts that are not empty.
func joined(separator string, texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(t string) bool { return t == "" }), separator)
}

// noted is a text if it holds, and otherwise empty.
func noted(holds bool, text string) string {
	if holds {
		return text
	}
	return ""
}

// minute is a time in UTC, which since and until accept.
func minute(t session.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04")
}

// beginning returns the first bytes of a text on one line.
func beginning(s string, most int) string {
	s = visible(strings.Join(strings.Fields(s), " "))
	if len(s) <= most {
		return s
	}
	for most > 0 && s[most]&0xC0 == 0x80 {
		most--
	}
	return s[:most] + "…"
}

// visible writes control characters other than tabs as escapes. Agents print what they
// read.
func visible(s string) string {
	hidden := func(r rune) bool { return r != '\t' && terminal.Hidden(r) }
	if strings.IndexFunc(s, hidden) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if !hidden(r) {
			b.WriteRune(r)
			continue
		}
		b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
	}
	return b.String()
}
