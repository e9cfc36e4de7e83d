package printer

// Resume is the command that resumes a session.
type Resume struct {
	Session   SessionFacts `json:"session"`
	EntryID   string       `json:"entryId,omitempty"` // of the hit that the session was found by
	Branch    string       `json:"branch,omitempty"`
	InContext *bool        `json:"inContext,omitempty"` // of the entry
	Dir       string       `json:"dir,omitempty"`       // where to run the command; "" runs it in the working directory
	Argv      []string     `json:"argv"`
	Command   string       `json:"shell"` // for the user's shell
	Fork      bool         `json:"fork"`
	Warnings  []string     `json:"warnings"`
}

// text writes the command and nothing else. Its quoting keeps all characters from
// acting on a terminal.
func (r *Resume) text(t *text) { t.print(r.Command, "\n") }

func (r *Resume) json(j *jsonWriter) {
	answer := *r
	answer.Warnings = list(r.Warnings)
	j.object("resume", answer)
}
