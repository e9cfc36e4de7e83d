package printer

import "io"

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
