package snapshot

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"unicode"

	"pigrep/index"
	"pigrep/indexer"
	"pigrep/internal/human"
	"pigrep/internal/lists"
	"pigrep/query/audit"
	"pigrep/query/blame"
	"pigrep/query/engine/rank"
	"pigrep/query/fix"
	"pigrep/query/grep"
	"pigrep/query/recap"
	"pigrep/query/search"
	"pigrep/query/sessions"
	"pigrep/query/similar"
	"pigrep/remote"
	"pigrep/remote/opensearch"
	"pigrep/remote/ssh"
	"pigrep/scope"
	"pigrep/ui/cli/location"
	"pigrep/ui/cli/problem"
	"pigrep/ui/cli/remotes"
)

// archives returns who answers for the archives of a location. An archive that does not answer is named
// in the answer of the others.
func archives(p *location.Location) []ssh.Asked {
	quiet := *p.App
	quiet.Quiet = true // answers say what they lack
	return lists.Map(p.Elsewhere.Archives, func(from *opensearch.Archive) ssh.Asked {
		one := *p
		one.App, one.Hosts, one.Elsewhere = &quiet, nil, &location.Elsewhere{}
		opening := Opening{Location: &one, Reveal: true, Names: &sync.Map{}}
		return ssh.Asked{Name: "archive " + from.Name(), Answers: &archive{opening, from, make(chan struct{}, partsAtOnce)}}
	})
}

// partsAtOnce is how many parts of an archive are in memory at once.
const partsAtOnce = 2

// archive answers for an archive in parts, of which each has an index in memory.
type archive struct {
	Opening
	from  *opensearch.Archive
	turns chan struct{}
}

var _ ssh.Divided = (*archive)(nil)

// Divide implements ssh.Divided.
func (a *archive) Divide(ctx context.Context, request any) ([]remote.Answers, error) {
	parts, err := a.parts(ctx, questionOf(request))
	return lists.Map(parts, func(p *part) remote.Answers { return p }), err
}

func (a *archive) parts(ctx context.Context, q *opensearch.Question) ([]*part, error) {
	saveMemory()
	q.Env.Expand = a.App.Absolute
	list, err := a.from.Divide(ctx, q)
	if err != nil {
		return nil, a.away(err)
	}
	return lists.Map(list, func(of *opensearch.Part) *part {
		p := &part{a.Opening}
		p.Open = func(ctx context.Context) (*Snapshot, error) {
			select {
			case a.turns <- struct{}{}:
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
			got, err := of.Open(ctx, a.Agents)
			if err != nil {
				<-a.turns
				return nil, a.away(err)
			}
			x := &Snapshot{Location: a.Location, Reader: got.Reader, Found: &indexer.Found{}, Sent: got, closed: func() { <-a.turns }}
			x.State.Complete, x.State.Files = true, got.Files
			x.lack(got.Missing)
			return x, nil
		}
		return p
	}), nil
}

// away turns an error of the archive into one of a host that does not answer.
func (a *archive) away(err error) error {
	p, ok := errors.AsType[*problem.Error](remotes.Problem(err))
	if !ok {
		return err
	}
	name := "archive " + a.from.Name()
	return &ssh.HostError{Host: name, Reason: strings.TrimPrefix(p.Error(), name+": "), Hint: cmp.Or(p.Hint, "`pigrep remote status "+a.from.Name()+"` says how it is")}
}

// Grep implements remote.Answers: one part after the other, in the order of the request.
func (a *archive) Grep(ctx context.Context, req grep.Request, visit func(*grep.Match) error) (*remote.Grepped, error) {
	parts, err := a.parts(ctx, &opensearch.Question{Spec: req.Spec, Required: req.Required(), Order: cmp.Or(req.Order, grep.OrderPath)})
	if err != nil {
		return nil, err
	}
	sum := &remote.Grepped{}
	sum.Index.Complete = true
	limit := req.Limit
	for _, p := range parts {
		left := limit - sum.Lines
		if limit > 0 {
			req.Limit = max(left, 1)
		}
		got, err := p.Grep(ctx, req, func(m *grep.Match) error {
			if limit > 0 && left <= 0 {
				return errEnough
			}
			return visit(m)
		})
		if errors.Is(err, errEnough) {
			sum.Limited = true
			return sum, nil
		}
		if got != nil {
			add(sum, got)
		}
		if err != nil || sum.Limited {
			return sum, err
		}
	}
	return sum, nil
}

var errEnough = errors.New("enough")

// add adds what is known of the grep of a part.
func add(sum, got *remote.Grepped) {
	sum.Files, sum.WithHits, sum.Lines, sum.Matches = sum.Files+got.Files, sum.WithHits+got.WithHits, sum.Lines+got.Lines, sum.Matches+got.Matches
	sum.Limited, sum.Searches, sum.Scanned = sum.Limited || got.Limited, sum.Searches+got.Searches, sum.Scanned || got.Scanned
	sum.Errors, sum.Warnings = append(sum.Errors, got.Errors...), append(sum.Warnings, got.Warnings...)
	sum.Index.Files, sum.Index.Complete = sum.Index.Files+got.Index.Files, sum.Index.Complete && got.Index.Complete
}

// part is a part of an archive.
type part struct{ Opening }

// Calls reads all rows at once: an index for each part would take too much memory.
func (p *part) Calls(ctx context.Context, req audit.Request) (*audit.CallList, error) {
	list, err := p.Opening.Calls(ctx, req)
	if err != nil {
		return nil, err
	}
	var rows []*audit.CallRow
	err = list.Each(ctx, func(row *audit.CallRow) error { rows = append(rows, row); return nil })
	list.Each = func(_ context.Context, visit func(*audit.CallRow) error) error {
		for _, row := range rows {
			if err := visit(row); err != nil {
				return err
			}
		}
		return nil
	}
	return list, err
}

// Sessions that are looked at for a question about what is alike: the best of those that share a word.
const compared = 60

// mostWords is how many words of a question about what is alike an archive is asked for.
const mostWords = 24

// questionOf returns what an archive must send so that a request can be answered.
func questionOf(request any) *opensearch.Question {
	switch req := request.(type) {
	case *search.Request:
		q := &opensearch.Question{Text: req.Text, Spec: req.Spec, Env: req.Env, Newest: req.Sort == rank.Newest}
		if req.Limit != search.All && req.Sort != rank.Oldest { // an archive does not say which are the oldest
			q.Wanted = req.Options().Limit
		}
		return q
	case *sessions.Request:
		q := &opensearch.Question{Text: req.Text, Spec: req.Spec, Env: req.Env, Newest: req.Sort == rank.Newest}
		switch {
		case req.Text == "":
			q.Brief = onlySummaries(req)
		case req.Limit != search.All && req.Sort != rank.Oldest:
			q.Wanted = cmp.Or(max(req.Limit, 0), sessions.DefaultSessions)
		}
		return q
	case *audit.Request: // texts of calls are in their sessions
		return &opensearch.Question{Spec: req.Spec, Env: req.Env, Facts: req.Text == ""}
	case *remote.FilesRequest:
		return &opensearch.Question{Spec: req.Spec, Env: req.Env, Facts: true}
	case *fix.Request:
		q := &opensearch.Question{Text: wordsOf(req.Text), Spec: req.Spec, Env: req.Env, Wanted: compared}
		q.Spec.Scope = scope.All
		return q
	case *similar.Request:
		weight := func(a, b string) int { return cmp.Or(cmp.Compare(req.Counts[b], req.Counts[a]), cmp.Compare(a, b)) }
		terms := slices.SortedFunc(maps.Keys(req.Counts), weight)
		return &opensearch.Question{Text: wordsOf(strings.Join(terms[:min(len(terms), mostWords)], " ")), Spec: req.Spec, Env: req.Env, Wanted: compared}
	case *blame.Request:
		q := &opensearch.Question{Text: fmt.Sprintf("file:%q", path.Base(req.Path)), Spec: req.Spec, Env: req.Env}
		q.Spec.Scope = scope.All
		return q
	case *blame.CommitRequest:
		return &opensearch.Question{Spec: req.Spec, Env: req.Env, Facts: true}
	case *recap.Request:
		q := &opensearch.Question{Spec: req.Spec, Facts: true}
		if req.Path != "" {
			q.Names = []string{req.Path}
		}
		return q
	}
	return &opensearch.Question{Brief: true}
}

// wordsOf returns the first words of a text as a query of which each may be there.
func wordsOf(text string) string {
	words := strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' })
	words = slices.Compact(slices.DeleteFunc(words, func(w string) bool { return w == "AND" || w == "OR" || w == "NOT" }))
	return strings.Join(words[:min(len(words), mostWords)], " ")
}

// onlySummaries reports whether summaries are enough to list sessions: nothing tests their
// parts, and a session with an entry between two times begins or ends between them.
func onlySummaries(req *sessions.Request) bool {
	s := req.Spec
	return len(s.Kinds)+len(s.Roles)+len(s.Tools) == 0 && s.Scope == "" && s.Branch == "" && !s.Error && !s.NoSearches && (s.Since.IsZero() || s.Until.IsZero())
}

// openElsewhere opens an index in memory of sessions that are named and that others have, with the
// sessions of this machine if they are asked for too.
func openElsewhere(ctx context.Context, p *location.Location, named remote.Named) (*Snapshot, error) {
	saveMemory()
	base := &Snapshot{Location: p, Reader: index.Empty(), Found: &indexer.Found{}}
	base.State.Complete = true
	if p.Elsewhere.Here {
		var err error
		if base, err = Open(ctx, alone(p), named); err != nil {
			return nil, err
		}
	}
	defer base.Close()
	got, err := remote.Join(ctx, p.Agents, base.Reader, p.Disk(), p.Elsewhere.Host, p.Elsewhere.Sources, named)
	if err != nil {
		return nil, remotes.Problem(err)
	}
	x := *base
	x.Location, x.Reader, x.Asking, x.Sent = p, got.Reader, askHosts(p), got
	x.State.Files = base.Reader.Table().Len() + got.Known
	x.lack(got.Missing)
	return &x, nil
}

// lack says what an index lacks.
func (x *Snapshot) lack(missing []remote.Missing) {
	for _, m := range missing {
		text, hint := lack(&m)
		x.State.Complete, x.Lacks = false, append(x.Lacks, text)
		x.App.Advise(hint, "%s", text)
	}
}

// lack says what an answer lacks, and what to do about it.
func lack(m *remote.Missing) (text, hint string) {
	some := human.Plural(m.Sessions, "session file of "+m.Source+" is", "session files of "+m.Source+" are")
	switch {
	case m.Err == nil:
		return some + " not in this answer: there is no room for more", "narrow it: --since, --project, --session, or more words"
	case errors.Is(m.Err, remote.ErrLost):
		return some + " not in this answer: the archive has lost a month", "`pigrep push " + m.Source + "` on their machines sends them again; `pigrep remote check " + m.Source + "` names them"
	case errors.Is(m.Err, remote.ErrDamaged):
		return some + " not in this answer, or in part: something else than pigrep has written there", "`pigrep remote status " + m.Source + "` names what it can"
	}
	if h, ok := errors.AsType[*ssh.HostError](m.Err); ok {
		hint = h.Hint
	} else if p, ok := errors.AsType[*problem.Error](remotes.Problem(m.Err)); ok {
		hint = p.Hint
	}
	return fmt.Sprintf("nothing from %s in this answer: %v", m.Source, m.Err), hint
}

// everything is the files of an index that has all of each.
func (x *Snapshot) everything() []grep.File {
	list := x.Reader.Summaries()
	files := make([]grep.File, len(list))
	for i := range list {
		files[i] = grep.File{Path: list[i].Path, Time: list[i].Modified(), Known: &list[i], Indexed: grep.Whole}
	}
	return files
}
