package printer

import (
	"pigrep/query/grep"
	"pigrep/query/search"
)

// grepStats are the statistics of ripgrep that depend neither on the clock nor on
// how the search was done.
type grepStats struct {
	Searches          int `json:"searches"`
	SearchesWithMatch int `json:"searches_with_match"`
	MatchedLines      int `json:"matched_lines"`
	Matches           int `json:"matches"`
}

type grepString struct {
	Text string `json:"text"`
}

type grepMessage struct {
	Type string `json:"type"`
	Data any    `json:"data"`
}

func (g *Grep) json(j *jsonWriter) {
	lead := grepLead{list(g.Patterns), g.Scope}
	if j.lines {
		g.messages(&grepLines{jsonWriter: j}, lead)
		return
	}
	j.stream(&stream{
		command: "grep", lead: lead, name: "matches",
		rows: func(visit func(any) error) error {
			return g.Each(func(m *grep.Match) error {
				for _, r := range m.Rows() {
					if err := visit(grepRow{r}); err != nil {
						return err
					}
				}
				return nil
			})
		},
		tail: func(int) any {
			sum, state := g.End()
			return struct {
				Lines    int               `json:"total"`
				Matches  int               `json:"totalMatches"`
				Files    int               `json:"files"`
				WithHits int               `json:"filesWithMatch"`
				Limited  bool              `json:"limited,omitempty"`
				Warnings []string          `json:"warnings"`
				Index    search.IndexState `json:"index"`
			}{sum.Lines, sum.Matches, sum.Files, sum.WithHits, sum.Limited, []string{}, state}
		},
	})
}

// grepRow is the row of a line of any length.
type grepRow struct{ grep.Row }

func (r grepRow) size() int { return len(r.Text) }

func (r grepRow) write(j *jsonWriter) {
	text := r.Text
	r.Text = ""
	j.filled(r, `"text":""`, func() { j.inside(text) })
}

// grepLead begins the answer and the summary.
type grepLead struct {
	Patterns []string `json:"patterns"`
	Scope    string   `json:"scope,omitempty"`
}

// grepLines writes the messages of ripgrep's --json with our location fields added.
type grepLines struct {
	*jsonWriter
	path  string
	stats grepStats // of the file
}

func (g *Grep) messages(out *grepLines, lead grepLead) {
	out.fail(g.Each(out.match))
	if out.endFile(); out.err != nil {
		return
	}
	sum, state := g.End()
	message := out.encoded(grepMessage{"summary", struct {
		head
		grepLead
		Stats    grepStats         `json:"stats"`
		Limited  bool              `json:"limited,omitempty"`
		Warnings []string          `json:"warnings"`
		Index    search.IndexState `json:"index"`
	}{head{SchemaVersion: SchemaVersion, Command: "grep"}, lead, grepStats{sum.Files, sum.WithHits, sum.Lines, sum.Matches}, sum.Limited, []string{}, state}})
	out.last(message[:len(message)-1])
}

type grepSubmatch struct {
	Match grepString `json:"match"`
	Start int        `json:"start"`
	End   int        `json:"end"`
}

func (g *grepLines) match(m *grep.Match) error {
	path := grepString{m.SessionPath}
	if m.SessionPath != g.path {
		g.endFile()
		g.path = m.SessionPath
		g.line(grepMessage{"begin", struct {
			Path        grepString `json:"path"`
			SessionPath string     `json:"sessionPath"`
			SessionID   string     `json:"sessionId,omitempty"`
		}{path, m.SessionPath, m.SessionID}})
		g.stats = grepStats{Searches: 1, SearchesWithMatch: 1}
	}
	g.stats.MatchedLines += m.Matched
	g.stats.Matches += m.Matches
	for i := range m.Lines {
		g.lineOf(m, &m.Lines[i])
	}
	return g.err
}

func (g *grepLines) lineOf(m *grep.Match, l *grep.Line) {
	kind, end, submatches := "context", "", []grepSubmatch{}
	if l.Match {
		kind = "match"
	}
	if l.Ended {
		end = "\n"
	}
	for _, s := range l.Spans {
		submatches = append(submatches, grepSubmatch{grepString{l.Text[s[0]:s[1]]}, s[0], s[1]})
	}
	message := func(text string) grepMessage {
		return grepMessage{kind, struct {
			Path       grepString     `json:"path"`
			Lines      grepString     `json:"lines"`
			Number     int            `json:"line_number"`
			Absolute   int            `json:"absolute_offset"`
			Submatches []grepSubmatch `json:"submatches"`
			grep.Location
			grep.Cut
		}{grepString{m.SessionPath}, grepString{text}, l.Number, l.Offset, submatches, m.Location, l.Cut()}}
	}
	if len(l.Text) < longFrom {
		g.line(message(l.Text + end))
		return
	}
	g.long(longMessage{message(""), l.Text, end})
}

// longMessage is a message with a long line, given without its text.
type longMessage struct {
	grepMessage
	text, end string
}

func (m longMessage) size() int { return len(m.text) }

func (m longMessage) write(j *jsonWriter) {
	j.filled(m.grepMessage, `"lines":{"text":""`, func() {
		j.inside(m.text)
		j.inside(m.end)
	})
}

func (g *grepLines) endFile() {
	if g.path != "" {
		g.line(grepMessage{"end", struct {
			Path  grepString `json:"path"`
			Stats grepStats  `json:"stats"`
		}{grepString{g.path}, g.stats}})
	}
}
