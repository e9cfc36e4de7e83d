package blame

import (
	"bytes"
	"errors"
	"slices"

	"pigrep/internal/redact"
	"pigrep/internal/session"
	"pigrep/query/engine/entry"
)

// explainer finds what was said about a call.
type explainer struct {
	*collector
	redact bool

	session *session.Summary // that is open
	record  *session.Record
	tree    *session.Tree
	entries *entry.Reader
	names   *entry.Naming
}

func (e *explainer) open(s *session.Summary) error {
	if e.session == s {
		return nil
	}
	rec, err := e.reader.Record(s.File)
	if err != nil || rec == nil {
		return err
	}
	e.entries.Use(s)
	e.session, e.record, e.tree = s, rec, rec.Tree()
	return nil
}

// mostSteps is how many of the last entries of a turn are read for its last reply.
const mostSteps = 12

// explain returns the prompt of the turn of a call, and the text of the message that made the call,
// else the last reply of the turn: a text between them may be about another call.
func (e *explainer) explain(s *session.Summary, n *session.Node) (prompt, reply *Said, err error) {
	if err := e.open(s); err != nil || e.session != s {
		return nil, nil, err
	}
	at := e.record.NodeAt(n.Offset)
	if at < 0 {
		return nil, nil, nil
	}
	path := e.tree.Through(at)
	i := slices.Index(path, at)
	if i < 0 {
		path, i = []int{at}, 0
	}
	first := i
	for k := i; k >= 0 && prompt == nil; k-- {
		if first = k; e.record.Nodes[path[k]].Role == session.RoleUser {
			if prompt, err = e.quote(path[k], session.KindPrompt); err != nil {
				return nil, nil, err
			}
		}
	}
	message := e.record.Nodes[at].Message
	for k := i; k > first && reply == nil && err == nil && (k == i || message != "" && e.record.Nodes[path[k]].Message == message); k-- {
		reply, err = e.quote(path[k], session.KindReply)
	}
	end := i + 1
	for end < len(path) && e.record.Nodes[path[end]].Role != session.RoleUser {
		end++
	}
	for k := end - 1; k > i && k >= end-mostSteps && reply == nil && err == nil; k-- {
		if e.record.Nodes[path[k]].Role == session.RoleAssistant {
			reply, err = e.quote(path[k], session.KindReply)
		}
	}
	return prompt, reply, err
}

// mostText is how many bytes of a text are shown.
const mostText = 400

// quote returns the beginning of the text of this kind in an entry; nil if it has none.
func (e *explainer) quote(at int, kind session.Kind) (said *Said, err error) {
	n := &e.record.Nodes[at]
	err = e.entries.Read(entry.RefOf(n, e.record.Contexts.At(at)), entry.Identity{ID: n.ID}, func(parsed *session.Entry) {
		for i := range parsed.Parts {
			text := parsed.Parts[i].Text
			if said != nil || parsed.Parts[i].Kind != kind || len(bytes.TrimSpace(text)) == 0 {
				continue
			}
			if e.redact {
				text = redact.Bytes(text)
			}
			said = &Said{EntryName: session.EntryName{EntryID: n.ID}, Line: n.Line, Text: session.Beginning(string(text), mostText)}
		}
	})
	if errors.Is(err, entry.ErrChanged) { // the line is known all the same
		err = nil
	}
	return said, err
}
