package printer

import (
	"fmt"
	"io"
	"strings"
	"time"

	"pigrep/internal/human"
	"pigrep/internal/terminal"
	"pigrep/query/sessions"
)

// Resume is the command that resumes a session.
type Resume struct {
	Session   SessionFacts
	EntryID   string // of the hit that the session was found by
	Branch    string
	InContext bool
	Dir       string // "": where the person is
	Argv      []string
	Command   string // for the person's shell
	Fork      bool
	Warnings  []string
}

// Resume writes the command and nothing else: it is quoted such that no
// character of it acts on a terminal.
func (t *text) Resume(r *Resume) error {
	_, err := io.WriteString(t.w, r.Command+"\n")
	return err
}

func (p plain) Resume(r *Resume) error { return (&text{w: p.w}).Resume(r) }

type resumeJSON struct {
	head
	Session   factsJSON `json:"session"`
	EntryID   string    `json:"entryId,omitempty"`
	Branch    string    `json:"branch,omitempty"`
	InContext *bool     `json:"inContext,omitempty"`
	Dir       string    `json:"dir,omitempty"`
	Argv      []string  `json:"argv"`
	Shell     string    `json:"shell"`
	Fork      bool      `json:"fork"`
	Warnings  []string  `json:"warnings"`
}

func newResumeJSON(h head, r *Resume) resumeJSON {
	j := resumeJSON{
		head: h, Session: newFactsJSON(&r.Session), EntryID: r.EntryID, Branch: r.Branch,
		Dir: r.Dir, Argv: r.Argv, Shell: r.Command, Fork: r.Fork, Warnings: list(r.Warnings),
	}
	if r.EntryID != "" {
		j.InContext = &r.InContext
	}
	return j
}

func (p jsonEnvelope) Resume(r *Resume) error {
	return encode(p.w, newResumeJSON(envelope("resume"), r))
}
func (p jsonLines) Resume(r *Resume) error { return encode(p.w, newResumeJSON(summary("resume"), r)) }

// Choices writes numbered sessions to choose from.
func Choices(w io.Writer, sessions []sessions.Session, short func(string) string, now time.Time, width int, home string) error {
	look := Look{Now: now, Home: home}
	var b strings.Builder
	for i := range sessions {
		s := &sessions[i]
		line := fmt.Sprintf("%d  %4s  %s  ", i+1, human.Age(look.Now, s.Modified.Time), terminal.Clean(short(s.SessionID)))
		rest := title(s.Name, s.FirstPrompt)
		dir := "  " + terminal.ClipLeft(terminal.Clean(human.Path(s.CWD, look.Home)), max(10, width/4))
		if room := width - terminal.Width(line) - terminal.Width(dir); room >= minBodyColumns {
			rest = terminal.Clip(rest, room) + dir
		}
		b.WriteString(terminal.Clip(line+rest, width) + "\n")
		if s.Hit != nil {
			b.WriteString(terminal.Clip("   "+string(s.Hit.Kind)+": "+terminal.Clean(s.Hit.Fragment.Text), width) + "\n")
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
