// Package merge answers: what would one index say that has the sessions of all these hosts? Each
// host answers a request from its own index. What they say becomes one answer, whose hits have
// the order, the counts and the limits of one index.
//
// A request is asked in steps, and only the second is needed without words:
//
//	search.Identities     which sessions each host has; Elsewhere says who answers for those that several have
//	search.Statistics     what the words of the query are in each index; their sum is Request.Shared
//	search.Run            the answer of each, with a search.Part
//	Again                 which of them must answer again, because all together decide otherwise
//	Search                the answer
//
// An answer may be merged before all are there: it is then that of the hosts which answered.
// Answers are untrusted: merging is linear in their size, and believes what they say of their
// own sessions only.
//
// The package imports the questions. It knows neither how hosts are reached nor who asks.
package merge

import (
	"slices"
	"strings"

	"pigrep/internal/session"
	"pigrep/query/search"
)

// An Answer is the response of one host.
type Answer[T any] struct {
	Host     string // its name; "" for this machine
	Response T
}

// path is the path by which answers call a session file of a host. It is that of remote.Name.
func (a *Answer[T]) path(path string) string {
	if a.Host == "" || path == "" {
		return path
	}
	return a.Host + ":" + path
}

// parent is path for what a header names, which may be an id.
func (a *Answer[T]) parent(name string) string {
	if !session.IsPath(name) {
		return name
	}
	return a.path(name)
}

// Elsewhere returns for each host the identities of the sessions that another one answers for:
// the one with the most bytes of a session, of several the first.
func Elsewhere(hosts [][]search.Identity) [][]uint64 {
	type owner struct {
		host int
		size int64
	}
	owners := make(map[uint64]owner)
	for i, list := range hosts {
		for _, s := range list {
			if o, ok := owners[s.Hash]; !ok || s.Size > o.size {
				owners[s.Hash] = owner{i, s.Size}
			}
		}
	}
	elsewhere := make([][]uint64, len(hosts))
	for i, list := range hosts {
		for _, s := range list {
			if owners[s.Hash].host != i {
				elsewhere[i] = append(elsewhere[i], s.Hash)
			}
		}
		slices.Sort(elsewhere[i])
		elsewhere[i] = slices.Compact(elsewhere[i])
	}
	return elsewhere
}

// addState adds the state of another index.
func addState(to *search.IndexState, o search.IndexState, first bool) {
	to.Generation = max(to.Generation, o.Generation)
	to.Files += max(o.Files, 0)
	to.PendingFiles += max(o.PendingFiles, 0)
	to.PendingBytes += max(o.PendingBytes, 0)
	to.SkippedLines += max(o.SkippedLines, 0)
	to.Complete = (to.Complete || first) && o.Complete
	to.Several = to.Several || o.Several
}

// addWarnings adds what a host warns of, and its name to what others do not say too.
func addWarnings(to []string, more []string) []string {
	for _, w := range more {
		if !slices.Contains(to, w) {
			to = append(to, w)
		}
	}
	return to
}

// said returns the sentences that all hosts say. Of the suggestions after a semicolon each has
// its own: they are kept if all are the same.
func said(lists [][]string) (common []string) {
	if len(lists) == 0 {
		return nil
	}
	for _, sentence := range lists[0] {
		about, _, _ := strings.Cut(sentence, ";")
		all, same := true, true
		for _, list := range lists[1:] {
			i := slices.IndexFunc(list, func(s string) bool { before, _, _ := strings.Cut(s, ";"); return before == about })
			all = all && i >= 0
			same = same && i >= 0 && list[i] == sentence
		}
		switch {
		case all && same:
			common = append(common, sentence)
		case all:
			common = append(common, about)
		}
	}
	return common
}

// first returns a list's first elements, as many as a limit allows.
func first[T any](list []T, limit int) []T {
	if limit > 0 && len(list) > limit {
		return list[:limit]
	}
	return list
}

// ordered returns the elements of several lists in one order. Those that compare as equal keep
// the order of the hosts.
func ordered[T any](lists [][]T, compare func(a, b *T) int) []T {
	all := slices.Concat(lists...)
	slices.SortStableFunc(all, func(a, b T) int { return compare(&a, &b) })
	return all
}

// place makes the facts about a session those of a session of a host.
func place[T any](a *Answer[T], s *search.SessionFacts) {
	s.Host, s.SessionPath, s.ParentSession = a.Host, a.path(s.SessionPath), a.parent(s.ParentSession)
}
