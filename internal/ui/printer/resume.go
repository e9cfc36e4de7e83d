package printer

import (
	"io"
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

// text writes the command and nothing else: it is quoted such that no
// character of it acts on a terminal.
func (r *Resume) text(t *text) error {
	_, err := io.WriteString(t.w, r.Command+"\n")
	return err
}

func (r *Resume) plain(p plain) error { return r.text(&text{w: p.w}) }

func (r *Resume) json(j *jsonWriter) error {
	answer := struct {
		Session   factsJSON `json:"session"`
		EntryID   string    `json:"entryId,omitempty"`
		Branch    string    `json:"branch,omitempty"`
		InContext *bool     `json:"inContext,omitempty"`
		Dir       string    `json:"dir,omitempty"`
		Argv      []string  `json:"argv"`
		Shell     string    `json:"shell"`
		Fork      bool      `json:"fork"`
		Warnings  []string  `json:"warnings"`
	}{
		Session: newFactsJSON(&r.Session), EntryID: r.EntryID, Branch: r.Branch,
		Dir: r.Dir, Argv: r.Argv, Shell: r.Command, Fork: r.Fork, Warnings: list(r.Warnings),
	}
	if r.EntryID != "" {
		answer.InContext = &r.InContext
	}
	return j.object("resume", answer)
}
