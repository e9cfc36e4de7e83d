package search

import (
	"unicode/utf8"

	"pigrep/internal/redact"
	"pigrep/internal/session"
	"pigrep/query/engine/match"
)

// With Request.Redact, answers mask what looks like a secret. Secrets are recognized in
// the whole text, before a fragment is cut from it: a piece of a key no longer looks
// like one. Searching itself does not depend on it.

// shown returns the text from which a fragment is cut, and the matches in it.
func (r *Request) shown(text []byte, matches []match.Span) ([]byte, []match.Span) {
	if !r.Redact {
		return text, matches
	}
	from, to := 0, 0
	if first, last := match.BestCluster(matches); first <= last {
		from, to = matches[first].Start, matches[last].End
	}
	spans := redact.Around(text, max(0, from-match.ContextBytes), min(len(text), to+match.ContextBytes))
	if len(spans) == 0 {
		return text, matches
	}
	masked, move := redact.Apply(string(text), spans)
	moved := make([]match.Span, len(matches))
	for i, m := range matches {
		m.Start, m.End = move(m.Start, m.End)
		moved[i] = m
	}
	return []byte(masked), moved
}

// redact masks the texts of a hit other than its fragment.
func (h *Hit) redact() {
	h.SessionName, h.Label = redact.Text(h.SessionName), redact.Text(h.Label)
}

// Redact masks the texts of a session.
func (s *SessionHit) Redact() {
	s.Name = redact.Text(s.Name)
	for _, text := range []*string{&s.FirstPrompt, &s.Title} {
		if len(*text) > session.MaxFirstPrompt-utf8.UTFMax { // it may be cut
			*text = redact.Beginning(*text)
		} else {
			*text = redact.Text(*text)
		}
	}
	for i, l := range s.Labels {
		if masked := redact.Text(l); masked != l {
			s.Labels = append([]string{}, s.Labels...) // they are the index's
			s.Labels[i] = masked
		}
	}
}

// text returns a short text as it may be shown.
func (r *Request) text(s string) string {
	if !r.Redact {
		return s
	}
	return redact.Text(s)
}
