package session

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Add folds the next entry of the file, in file order, into the record: its
// node, and the facts that later lines can change. It does not retain the
// entry's memory.
func (r *Record) Add(e *Entry) {
	r.Entries++
	if !e.Timestamp.IsZero() {
		if r.Oldest.IsZero() || e.Timestamp.Before(r.Oldest) {
			r.Oldest = e.Timestamp
		}
		if e.Timestamp.After(r.Newest) {
			r.Newest = e.Timestamp
		}
	}
	r.Nodes = append(r.Nodes, r.node(e))
	switch e.Type {
	case TypeMessage:
		r.Messages++
		r.addMessage(e)
	case TypeSessionInfo:
		r.Name = strings.Clone(strings.TrimSpace(e.Name))
	case TypeLabel:
		r.addLabel(e)
	}
}

// AddUsage adds the usage of an entry. Call it after Add.
func (r *Record) AddUsage(u Usage) {
	r.UsedTokens += u.Tokens()
	r.UsedCost += u.Cost
}

func (r *Record) addLabel(e *Entry) {
	if e.Label == "" {
		delete(r.Labels, e.TargetID)
	} else {
		if r.Labels == nil {
			r.Labels = make(map[string]string)
		}
		r.Labels[strings.Clone(e.TargetID)] = strings.Clone(e.Label)
	}
	switch n := len(r.Labels); {
	case n == 0:
		r.LabelNames = nil
	case n <= MaxLabelled:
		r.LabelNames = slices.Compact(slices.Sorted(maps.Values(r.Labels)))
	}
}

func (r *Record) addMessage(e *Entry) {
	if e.Role != RoleUser && e.Role != RoleAssistant {
		return
	}
	at := e.MessageTime
	if at.IsZero() {
		at = e.Timestamp
	}
	if at.After(r.LastMessage) {
		r.LastMessage = at
	}
	if e.Role == RoleUser {
		r.addPrompt(e.UserText)
	}
	if e.Role == RoleAssistant && e.Model != "" {
		model := e.Model
		if e.Provider != "" {
			model = e.Provider + "/" + model
		}
		for _, m := range r.Models {
			if m == model {
				return
			}
		}
		r.Models = append(r.Models, strings.Clone(model))
	}
}

// addPrompt sets the first prompt, and the subject until a prompt says what it is.
func (r *Record) addPrompt(text string) {
	first := r.FirstPrompt == ""
	if first {
		r.FirstPrompt = shorten(text, MaxFirstPrompt)
	} else if !saysLittle(cmp.Or(r.Subject, r.FirstPrompt)) {
		return
	}
	subject := Subject(text)
	if first && subject == joined(text) {
		return // as most are
	}
	if first || !saysLittle(subject) {
		r.Subject = subject
	}
}

func (r *Record) node(e *Entry) Node {
	n := Node{
		ID:        strings.Clone(e.ID),
		ParentID:  strings.Clone(e.ParentID),
		HasParent: e.HasParent,
		Type:      intern(e.Type),
		Role:      intern(e.Role),
		TargetID:  strings.Clone(e.TargetID),
		FirstKept: strings.Clone(e.FirstKeptID),
		Offset:    e.Offset,
		Length:    e.Length,
		Line:      e.Line,
	}
	if !e.Timestamp.IsZero() {
		n.Time = e.Timestamp.UnixMilli()
	}
	if e.Type == TypeCompaction && e.FirstKeptID == "" && e.FirstKeptIndex > 0 {
		// Version 1 counts parsed lines; the header is number 0. Current pi
		// treats 0 as if no entry was kept.
		if i := e.FirstKeptIndex - 1; i < r.Len() {
			n.FirstKept = r.all()[i].ID
		}
	}
	return n
}

// AddProblem counts a skipped piece of the file and keeps the first MaxProblems of
// them.
func (r *Record) AddProblem(p Problem) {
	r.Skipped++
	if len(r.Problems) < MaxProblems {
		r.Problems = append(r.Problems, p)
	}
}

// Clone returns a copy that Add and AddProblem on r do not change.
func (r *Record) Clone() *Record {
	c := *r
	c.Nodes = append([]Node(nil), r.Nodes...)
	c.Models = append([]string(nil), r.Models...)
	c.LabelNames = append([]string(nil), r.LabelNames...)
	c.Problems = append([]Problem(nil), r.Problems...)
	c.Blocks = append([]uint64(nil), r.Blocks...)
	c.Partial = append([]byte(nil), r.Partial...)
	c.Facts = r.Facts.Clone()
	c.Labels = nil
	for target, label := range r.Labels {
		if c.Labels == nil {
			c.Labels = make(map[string]string, len(r.Labels))
		}
		c.Labels[target] = label
	}
	return &c
}

// Created is when the session began: the timestamp of the header, or else of the
// oldest entry, or else of the file.
func (s *Summary) Created() time.Time {
	switch {
	case !s.Header.Timestamp.IsZero():
		return s.Header.Timestamp
	case !s.Oldest.IsZero():
		return s.Oldest
	}
	return s.fileTime()
}

// Modified is the time of the latest user or assistant message, as in pi's own list,
// or else Created.
func (s *Summary) Modified() time.Time {
	if !s.LastMessage.IsZero() {
		return s.LastMessage
	}
	return s.Created()
}

// TimeOf returns the node's time, or the file's for a node without one.
func (s *Summary) TimeOf(n *Node) time.Time {
	if n.Time != 0 {
		return time.UnixMilli(n.Time).UTC()
	}
	return s.fileTime()
}

// Times returns the range of the times of all entries. Those without any time have that of
// the file.
func (s *Summary) Times() (first, last time.Time) {
	first, last = s.Oldest, s.Newest
	if mtime := s.fileTime(); s.Oldest.IsZero() {
		first, last = mtime, mtime
	} else if s.Header.Timestamp.IsZero() && mtime.Before(first) {
		first = mtime
	} else if s.Header.Timestamp.IsZero() && mtime.After(last) {
		last = mtime
	}
	return first, last
}

func (s *Summary) fileTime() time.Time { return time.Unix(0, s.Mtime).UTC() }

// shorten returns a copy of s without the space around it, cut to at most limit bytes.
func shorten(s string, limit int) string { return strings.Clone(Cut(strings.TrimSpace(s), limit)) }

// Cut returns at most the first n bytes of a text, fewer to end between characters.
func Cut[T string | []byte](text T, n int) T {
	if len(text) <= n {
		return text
	}
	n = max(n, 0)
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

// intern returns a shared copy of the types and roles that most entries have.
func intern(s string) string {
	switch s {
	case TypeMessage:
		return TypeMessage
	case RoleUser:
		return RoleUser
	case RoleAssistant:
		return RoleAssistant
	case RoleToolResult:
		return RoleToolResult
	}
	return strings.Clone(s)
}
