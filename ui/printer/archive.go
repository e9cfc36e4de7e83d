package printer

// Told is an answer of a few lines: about archives, and about what was sent there.
type Told struct {
	Command string
	Lines   []string // without control characters
	Facts   any      // the same for programs: a struct
}

func (a *Told) text(t *text) {
	for _, line := range a.Lines {
		t.print(line, "\n")
	}
}

func (a *Told) json(j *jsonWriter) { j.object(a.Command, a.Facts) }
