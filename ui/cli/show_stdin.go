package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"sync"

	"pigrep/ui/cli/problem"
)

// hitLine is the part of a hit or session on stdin that matters here.
type hitLine struct {
	Type        string          `json:"type"`
	SessionPath string          `json:"sessionPath"` // in text also another name
	EntryID     string          `json:"entryId"`
	Place       string          `json:"-"` // SESSION:ENTRY, in a line of text
	Offset      *int64          `json:"offset"`
	Hits        json.RawMessage `json:"hits"` // of an envelope; a number in a session
	Data        json.RawMessage `json:"data"` // of a message of grep
	Fragment    struct {
		Text  string   `json:"text"`
		Spans [][2]int `json:"spans"`
	} `json:"fragment"`
	Submatches []struct {
		Match struct {
			Text string `json:"text"`
		} `json:"match"`
	} `json:"submatches"` // of a match of grep
}

// matched returns the texts that a hit matched.
func (h *hitLine) matched() []string {
	var texts []string
	for _, s := range h.Fragment.Spans {
		if text := h.Fragment.Text; 0 <= s[0] && s[0] < s[1] && s[1] <= len(text) {
			texts = append(texts, text[s[0]:s[1]])
		}
	}
	for i := range h.Submatches {
		if text := h.Submatches[i].Match.Text; text != "" {
			texts = append(texts, text)
		}
	}
	return texts
}

// namedHits are the sessions of hits on stdin in order, each with its entries in order.
type namedHits struct {
	paths   []string
	entries map[string][]hitLine
}

func (n *namedHits) add(h *hitLine) {
	var data hitLine
	if json.Unmarshal(h.Data, &data) == nil {
		n.add(&data)
	}
	var hits []hitLine
	if json.Unmarshal(h.Hits, &hits) == nil {
		for i := range hits {
			n.add(&hits[i])
		}
	}
	if h.SessionPath == "" {
		return
	}
	if _, ok := n.entries[h.SessionPath]; !ok {
		n.paths = append(n.paths, h.SessionPath)
		n.entries[h.SessionPath] = nil
	}
	if h.EntryID != "" {
		n.entries[h.SessionPath] = append(n.entries[h.SessionPath], *h)
	}
}

// place matches the beginning of a line of text: SESSION:ENTRY or SESSION, where SESSION is a
// name or a path.
var place = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([^\t]*?\.jsonl|[^\s:]+)(?::([^\s:]+))?`) })

// addPlace adds the place that begins a line of text.
func (n *namedHits) addPlace(line string) bool {
	at := place().FindStringSubmatch(line)
	if line == grepGap || at == nil {
		return line == grepGap
	}
	n.add(&hitLine{SessionPath: at[1], EntryID: at[2]})
	return true
}

// grepGap separates groups of lines.
const grepGap = "--"

// readHits reads hits: JSON lines with hits, sessions or lines of grep, a whole JSON answer, or
// lines of text that begin with a session and its entry.
func readHits(r io.Reader) (namedHits, error) {
	found := namedHits{entries: make(map[string][]hitLine)}
	in := bufio.NewReader(r)
	for n := 1; ; n++ {
		data, readErr := in.ReadBytes('\n')
		line := bytes.TrimSpace(data)
		if len(line) > 0 && line[0] != '{' && found.addPlace(string(line)) {
			line = nil
		}
		if len(line) > 0 {
			var h hitLine
			if err := json.Unmarshal(data, &h); err != nil {
				return found, &problem.Error{Code: problem.CodeUsage, Message: fmt.Sprintf("line %d of the input is not a hit", n), Err: err,
					Hint: "pipe hits to it: pigrep QUERY | pigrep show -"}
			}
			found.add(&h)
		}
		if errors.Is(readErr, io.EOF) {
			return found, nil
		}
		if readErr != nil {
			return found, fmt.Errorf("cannot read the hits: %w", readErr)
		}
	}
}
