package printer

import (
	"bytes"
	"encoding/json"
	"io"

	"pigrep/query"
	"pigrep/query/grep"
)

// grepStats are the figures of ripgrep that do not depend on the clock or on the
// way of searching.
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

// grepLines writes the messages of ripgrep's --json, with our position fields
// added.
type grepLines struct {
	w io.Writer
	GrepOptions
	path  string
	stats grepStats // of the file
}

type grepSubmatch struct {
	Match grepString `json:"match"`
	Start int        `json:"start"`
	End   int        `json:"end"`
}

func (g *grepLines) Match(m *grep.Match) error {
	path := grepString{m.SessionPath}
	if m.SessionPath != g.path {
		if err := g.endFile(); err != nil {
			return err
		}
		g.path = m.SessionPath
		if err := encode(g.w, grepMessage{"begin", struct {
			Path        grepString `json:"path"`
			SessionPath string     `json:"sessionPath"`
			SessionID   string     `json:"sessionId,omitempty"`
		}{path, m.SessionPath, m.SessionID}}); err != nil {
			return err
		}
		g.stats = grepStats{Searches: 1, SearchesWithMatch: 1}
	}
	g.stats.MatchedLines += m.Matched
	g.stats.Matches += m.Matches
	for _, l := range m.Lines {
		kind, text, submatches := "context", l.Text, []grepSubmatch{}
		if l.Match {
			kind = "match"
		}
		if l.Ended {
			text += "\n"
		}
		for _, s := range l.Spans {
			submatches = append(submatches, grepSubmatch{grepString{l.Text[s[0]:s[1]]}, s[0], s[1]})
		}
		if err := encode(g.w, grepMessage{kind, struct {
			Path       grepString     `json:"path"`
			Lines      grepString     `json:"lines"`
			Number     int            `json:"line_number"`
			Absolute   int            `json:"absolute_offset"`
			Submatches []grepSubmatch `json:"submatches"`
			grep.Location
		}{path, grepString{text}, l.Number, l.Offset, submatches, m.Location()}}); err != nil {
			return err
		}
	}
	return nil
}

func (g *grepLines) endFile() error {
	if g.path == "" {
		return nil
	}
	return encode(g.w, grepMessage{"end", struct {
		Path  grepString `json:"path"`
		Stats grepStats  `json:"stats"`
	}{grepString{g.path}, g.stats}})
}

func (g *grepLines) End(e *GrepEnd) error {
	if err := g.endFile(); err != nil {
		return err
	}
	s := e.Summary
	return encode(g.w, grepMessage{"summary", struct {
		grepHead
		Stats    grepStats        `json:"stats"`
		Warnings []string         `json:"warnings"`
		Index    query.IndexState `json:"index"`
	}{g.head(), grepStats{s.Files, s.WithHits, s.Lines, s.Matches}, list(e.Warnings), e.State}})
}

// grepHead begins the envelope and the summary.
type grepHead struct {
	head
	Patterns []string `json:"patterns"`
	Scope    string   `json:"scope,omitempty"`
}

func (o *GrepOptions) head() grepHead {
	return grepHead{envelope("grep"), list(o.Patterns), o.Scope}
}

// grepEnvelope writes one object. It does not wait for the last match to begin.
type grepEnvelope struct {
	w io.Writer
	GrepOptions
	begun bool
}

func (g *grepEnvelope) begin() error {
	g.begun = true
	data, err := encoded(g.head())
	if err != nil {
		return err
	}
	_, err = io.WriteString(g.w, string(bytes.TrimSuffix(data, []byte("}")))+`,"matches":[`)
	return err
}

func (g *grepEnvelope) Match(m *grep.Match) error {
	for _, row := range m.Rows() {
		comma := ","
		if !g.begun {
			comma = ""
			if err := g.begin(); err != nil {
				return err
			}
		}
		data, err := encoded(row)
		if err != nil {
			return err
		}
		if _, err := io.WriteString(g.w, comma+string(data)); err != nil {
			return err
		}
	}
	return nil
}

func (g *grepEnvelope) End(e *GrepEnd) error {
	if !g.begun {
		if err := g.begin(); err != nil {
			return err
		}
	}
	data, err := encoded(struct {
		Lines    int              `json:"total"`
		Matches  int              `json:"totalMatches"`
		Files    int              `json:"files"`
		WithHits int              `json:"filesWithMatch"`
		Warnings []string         `json:"warnings"`
		Index    query.IndexState `json:"index"`
	}{e.Summary.Lines, e.Summary.Matches, e.Summary.Files, e.Summary.WithHits, list(e.Warnings), e.State})
	if err != nil {
		return err
	}
	_, err = io.WriteString(g.w, "],"+string(bytes.TrimPrefix(data, []byte("{")))+"\n")
	return err
}

// encoded is what encode writes, without its newline.
func encoded(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	if err := encode(&b, v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
