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
	"unicode"

	"pigrep/index"
	"pigrep/indexer"
	"pigrep/internal/human"
	"pigrep/internal/lists"
	"pigrep/query/audit"
	"pigrep/query/blame"
	"pigrep/query/engine/rank"
	"pigrep/query/engine/words"
	"pigrep/query/fix"
	"pigrep/query/grep"
	"pigrep/query/recap"
	"pigrep/query/search"
	"pigrep/query/sessions"
	"pigrep/query/similar"
	"pigrep/remote"
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
	return lists.Map(p.Elsewhere.Sources, func(s remote.Source) ssh.Asked {
		one := *p
		one.App, one.Hosts, one.Elsewhere = &quiet, nil, &location.Elsewhere{Sources: []remote.Source{s}}
		return ssh.Asked{Name: "archive " + s.Name(), Answers: &Opening{Location: &one, Reveal: true, Open: func(ctx context.Context, of remote.Question) (*Snapshot, error) {
			x, err := openElsewhere(ctx, &one, of)
			return x, away(s.Name(), err)
		}}}
	})
}

// away turns an error of an archive into one of a host that does not answer.
func away(archive string, err error) error {
	p, ok := errors.AsType[*problem.Error](err)
	if !ok {
		return err
	}
	name := "archive " + archive
	return &ssh.HostError{Host: name, Reason: strings.TrimPrefix(p.Error(), name+": "), Hint: cmp.Or(p.Hint, "`pigrep remote status "+archive+"` says how it is")}
}

// Sessions that are looked at for a question about what is alike: the best of those that share a word.
const compared = 60

// mostWords is how many words of a question about what is alike an archive is asked for.
const mostWords = 24

// questionOf returns what an archive must send so that a request can be answered.
func questionOf(request any) remote.Question {
	switch req := request.(type) {
	case *search.Request:
		q := remote.Question{Text: req.Text, Spec: req.Spec, Env: req.Env, Newest: req.Sort == rank.Newest}
		if req.Limit != search.All && req.Sort != rank.Oldest { // an archive does not say which are the oldest
			q.Wanted = req.Options().Limit
		}
		return q
	case *sessions.Request:
		q := remote.Question{Text: req.Text, Spec: req.Spec, Env: req.Env, Newest: req.Sort == rank.Newest}
		switch {
		case req.Text == "":
			q.Brief = onlySummaries(req)
		case req.Limit != search.All && req.Sort != rank.Oldest:
			q.Wanted = cmp.Or(max(req.Limit, 0), sessions.DefaultSessions)
		}
		return q
	case *audit.Request: // texts of calls are in their sessions
		return remote.Question{Spec: req.Spec, Env: req.Env, Whole: true, Facts: req.Text == ""}
	case *remote.FilesRequest:
		return remote.Question{Spec: req.Spec, Env: req.Env, Whole: true, Facts: true}
	case *fix.Request:
		q := remote.Question{Text: wordsOf(req.Text), Spec: req.Spec, Env: req.Env, Wanted: compared}
		q.Spec.Scope = scope.All
		return q
	case *similar.Request:
		weight := func(a, b string) int { return cmp.Or(cmp.Compare(req.Counts[b], req.Counts[a]), cmp.Compare(a, b)) }
		terms := slices.SortedFunc(maps.Keys(req.Counts), weight)
		return remote.Question{Text: wordsOf(strings.Join(terms[:min(len(terms), mostWords)], " ")), Spec: req.Spec, Env: req.Env, Wanted: compared}
	case *blame.Request:
		q := remote.Question{Text: fmt.Sprintf("file:%q", path.Base(req.Path)), Spec: req.Spec, Env: req.Env}
		q.Spec.Scope = scope.All
		return q
	case *blame.CommitRequest:
		return remote.Question{Spec: req.Spec, Env: req.Env, Whole: true, Facts: true}
	case *recap.Request:
		q := remote.Question{Spec: req.Spec, Facts: true}
		if req.Path != "" {
			q.Names = []string{req.Path}
		}
		return q
	}
	return remote.Question{Brief: true}
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

// openElsewhere opens an index in memory of what archives have for the question, with the
// sessions of this machine if they are asked for too.
func openElsewhere(ctx context.Context, p *location.Location, of remote.Question) (*Snapshot, error) {
	saveMemory()
	base := &Snapshot{Location: p, Reader: index.Empty(), Found: &indexer.Found{}}
	base.State.Complete = true
	if p.Elsewhere.Here {
		here := *p
		here.Elsewhere = nil
		var err error
		if base, err = Open(ctx, &here, of); err != nil {
			return nil, err
		}
	}
	defer base.Close()
	start := p.App.Now()
	got, err := remote.Gather(ctx, p.Agents, base.Reader, p.Disk(), p.Elsewhere.Host, p.Elsewhere.Sources, of)
	if err != nil {
		return nil, remotes.Problem(err)
	}
	p.App.Logger().Debug("asked archives", "took", p.App.Now().Sub(start).String(), "sessions", got.Known)
	x := *base
	x.Location, x.Reader, x.Asking = p, got.Reader, askHosts(p)
	x.State.Files = base.Reader.Table().Len() + got.Known
	if got.Statistics, err = wholeOf(ctx, p, of, base.Reader, got); err != nil {
		return nil, errors.Join(remotes.Problem(err), x.Close())
	}
	x.Sent = got
	for _, m := range got.Missing {
		text, hint := lack(&m)
		x.State.Complete, x.Lacks = false, append(x.Lacks, text)
		p.App.Advise(hint, "%s", text)
	}
	return &x, nil
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

// wholeOf returns the statistics of all that may be asked; nil for a question without words.
func wholeOf(ctx context.Context, p *location.Location, q remote.Question, here *index.Reader, got *remote.Gathered) (*words.Statistics, error) {
	req := search.Request{Text: q.Text, Spec: q.Spec, Env: q.Env}
	sent, err := search.Statistics(ctx, got.Reader, req)
	if err != nil || q.Text == "" { // whoever asks is told what is wrong with the query
		return nil, nil
	}
	whole, err := got.Count(ctx, sent)
	if err == nil && p.Elsewhere.Here {
		var own *words.Statistics
		if own, err = search.Statistics(ctx, here, req); err == nil {
			whole.Add(own)
		}
	}
	return whole, err
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
