package printer

// Told is an answer of a few lines: about archives, and about what was sent there.
type Told struct {
	Command string
	Lines   []string // without control characters
	Facts   any      // the same for programs: a struct
}

func (a *Told) Text(t *Text) {
	for _, line := range a.Lines {
		t.Print(line, "\n")
	}
}

func (a *Told) JSON(j *JSON) { j.Object(a.Command, a.Facts) }
