package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"pigrep/ui/cli/problem"
)

// hitLine is the part of a hit or session on stdin that matters here.
type hitLine struct {
	Type        string          `json:"type"`
	SessionPath string          `json:"sessionPath"`
	EntryID     string          `json:"entryId"`
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

// readHits reads hits as JSON, one object per line: hits, sessions, messages of grep, or
// whole envelopes.
func readHits(r io.Reader) (namedHits, error) {
	found := namedHits{entries: make(map[string][]hitLine)}
	in := bufio.NewReader(r)
	for n := 1; ; n++ {
		data, readErr := in.ReadBytes('\n')
		if len(bytes.TrimSpace(data)) > 0 {
			var h hitLine
			if err := json.Unmarshal(data, &h); err != nil {
				return found, &problem.Error{Code: problem.CodeUsage, Message: fmt.Sprintf("line %d of the input is not a hit", n), Err: err,
					Hint: "pipe hits as JSON lines: pigrep --jsonl QUERY | pigrep show -"}
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
