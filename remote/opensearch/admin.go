package opensearch

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"pigrep/internal/lists"
	"pigrep/internal/near"
	"pigrep/internal/session"
)

// Init sets the archive up: its templates, with so many shards for each month, and its index of
// sessions. It returns what it made, or would make, and changes nothing that is as it should be. A
// template of another version is an error.
func (a *Archive) Init(ctx context.Context, shards int, dryRun bool) (changes []string, err error) {
	missing, err := a.missing(ctx)
	if err != nil {
		return nil, err
	}
	for _, name := range missing {
		changes = append(changes, "template "+name)
		if !dryRun {
			if err := a.call(ctx, http.MethodPut, "_index_template/"+name, a.template(a.templates()[name], shards), nil); err != nil {
				return changes, err
			}
		}
	}
	index := a.sessionsIndex("")
	err = a.call(ctx, http.MethodHead, index, nil, nil)
	if isStatus(err, http.StatusNotFound) {
		changes = append(changes, "index "+index)
		if err = nil; !dryRun {
			err = a.create(ctx, index)
		}
	}
	return changes, err
}

// Status is what an archive says about itself, as far as the role allows to ask.
type Status struct {
	Engine   string   `json:"engine"`  // and its version
	Cluster  string   `json:"cluster"` // its name
	Health   string   `json:"health"`  // green, yellow or red; unknown to whom the role does not allow it
	Ready    error    `json:"-"`       // why it cannot be used; nil if it can
	Sessions int      `json:"sessions"`
	Gone     int      `json:"gone"`    // sessions whose files are no longer on their machines
	Hosts    int      `json:"hosts"`   // machines that have pushed
	Refused  int      `json:"refused"` // documents that the engine did not take
	Damaged  []string `json:"damaged"` // ids of documents in the index of sessions that no push has written
	Months   []Month  `json:"months"`  // oldest first
	Pushes   []Done   `json:"pushes"`  // the latest first
}

// Month describes the index of a month.
type Month struct {
	Index     string `json:"index"`
	Documents int64  `json:"documents"`
	Bytes     int64  `json:"bytes"`
}

// Done says who pushed what.
type Done struct {
	Host      string `json:"host"`
	User      string `json:"user"`
	Pushed    int64  `json:"pushed"` // in Unix milliseconds
	Sessions  int    `json:"sessions"`
	Documents int    `json:"documents"`
	Bytes     int64  `json:"bytes"`
}

const mostPushes = 5

// Status asks an archive how it is.
func (a *Archive) Status(ctx context.Context) (*Status, error) {
	var root struct {
		Cluster string `json:"cluster_name"`
		Version struct{ Number, Distribution string }
	}
	s := &Status{Cluster: "unknown", Engine: "unknown", Health: "unknown", Damaged: []string{}, Months: []Month{}, Pushes: []Done{}}
	switch err := a.call(ctx, http.MethodGet, "", nil, &root); {
	case isStatus(err, http.StatusForbidden): // a role may not be allowed to
	case err != nil:
		return nil, err
	case root.Version.Number == "":
		return nil, a.wrap(ctx, fmt.Errorf("%w: it has no version", ErrNotEngine))
	default:
		s.Cluster, s.Engine = root.Cluster, strings.TrimSpace(root.Version.Distribution+" "+root.Version.Number)
	}
	var health struct{ Status string }
	if err := a.call(ctx, http.MethodGet, "_cluster/health", nil, &health); err == nil {
		s.Health = health.Status
	}
	if s.Ready = a.check(ctx); s.Ready != nil {
		return s, nil
	}
	if err := a.count(ctx, s); err != nil {
		return nil, err
	}
	if err := a.listMonths(ctx, s); err != nil && !isStatus(err, http.StatusForbidden) {
		return nil, err
	}
	return s, nil
}

// count counts the session files and lists the latest pushes.
func (a *Archive) count(ctx context.Context, s *Status) error {
	hosts := make(map[string]bool)
	damaged, err := a.states(ctx, a.allSessions(), nil, false, func(st *state) error {
		s.Sessions++
		s.Refused += st.Refused
		if hosts[st.Host] = true; st.Gone {
			s.Gone++
		}
		return nil
	})
	if err != nil {
		return err
	}
	s.Hosts, s.Damaged = len(hosts), append(s.Damaged, damaged...)
	s.Pushes, err = a.pushes(ctx, mostPushes)
	return err
}

func (a *Archive) pushes(ctx context.Context, most int) ([]Done, error) {
	found, err := find[Done](ctx, a, a.allSessions(), "", object{"size": most, "query": term("sort", sortPush), "sort": []object{{"pushed": object{"order": "desc", "unmapped_type": "date"}}}})
	if err != nil {
		return nil, err
	}
	return lists.Map(found.Hits.Hits, func(h hit[Done]) Done { return h.Source }), nil
}

// LastPush returns when the last push ended; zero if there was none.
func (a *Archive) LastPush(ctx context.Context) (at time.Time, err error) {
	list, err := a.pushes(ctx, 1)
	if len(list) > 0 {
		at = timeOf(list[0].Pushed)
	}
	return at, err
}

func (a *Archive) listMonths(ctx context.Context, s *Status) error {
	var months []struct {
		Index     string
		Documents int64 `json:"docs.count,string"`
		Bytes     int64 `json:"store.size,string"`
	}
	err := a.call(ctx, http.MethodGet, "_cat/indices/"+a.monthly("*")+"?format=json&bytes=b&h=index,docs.count,store.size&s=index", nil, &months)
	for _, m := range months {
		s.Months = append(s.Months, Month(m))
	}
	return err
}

// A Match is a session file that Matching found.
type Match struct {
	Key, Path, Session string
	Gone               bool // the file is no longer on its machine

	state *state
}

// Matching returns the session files that a name means, or those that began before a time.
func (a *Archive) Matching(ctx context.Context, name string, before time.Time) (list []Match, err error) {
	var query object
	if name != "" {
		query = named([]string{name})
	} else {
		// A session without a time began when it was first pushed at the latest.
		query = object{"bool": object{"minimum_should_match": 1, "should": []object{
			{"range": object{"begun": object{"lt": millis(before)}}},
			{"bool": object{"must_not": object{"exists": object{"field": "begun"}}, "filter": object{"range": object{"newest": object{"lt": millis(before)}}}}},
		}}}
	}
	_, err = a.states(ctx, a.allSessions(), query, false, func(s *state) error {
		sum := s.summary()
		handle := session.Handle(sum.ID, sum.Path)
		if name == "" || name == sum.Path || near.IsID(handle, name) {
			list = append(list, Match{s.FileKey, sum.Path, handle, s.Gone, s})
		}
		return nil
	})
	return list, err
}

// deleteFrom deletes what passes a query. What was added just now is seen only after a refresh.
func (a *Archive) deleteFrom(ctx context.Context, index string, query object, routing string) error {
	if err := a.refresh(ctx, index); err != nil {
		return err
	}
	where := index + "/_delete_by_query?conflicts=proceed&refresh=true&ignore_unavailable=true"
	if routing != "" {
		where += "&routing=" + routing
	}
	for try := 1; ; try++ {
		var answer struct {
			Conflicts int `json:"version_conflicts"`
			Failures  []struct {
				Cause struct{ Type, Reason string }
			}
		}
		if err := a.call(ctx, http.MethodPost, where, object{"query": query}, &answer); err != nil {
			return err
		}
		switch {
		case len(answer.Failures) > 0:
			e := answer.Failures[0].Cause
			return a.wrap(ctx, &StatusError{Type: said(e.Type), Reason: said(e.Reason)})
		case answer.Conflicts == 0:
			return nil
		case try == usualTries:
			return a.wrap(ctx, fmt.Errorf("%d documents are being written by somebody else", answer.Conflicts))
		}
		if err := a.wait(ctx, try); err != nil {
			return err
		}
	}
}

// counted returns how many documents pass a query.
func (a *Archive) counted(ctx context.Context, index string, query object) (int, error) {
	var answer struct{ Count int }
	err := a.call(ctx, http.MethodPost, index+"/_count?ignore_unavailable=true", object{"query": query}, &answer)
	return answer.Count, err
}

// DropMonths drops the indices whose months ended before a time, and returns their names. It is much faster
// than to Forget their sessions, of which it leaves the states.
func (a *Archive) DropMonths(ctx context.Context, before time.Time) (dropped []string, err error) {
	list, err := a.indices(ctx)
	if err != nil {
		return nil, err
	}
	for _, index := range list {
		name, ours := strings.CutPrefix(index, a.monthly(""))
		_, name, _ = cutLast(name, "-")
		if month, err := time.Parse(monthLayout, name); !ours || err != nil || month.AddDate(0, 1, 0).After(before) {
			continue
		}
		if err := a.call(ctx, http.MethodDelete, index, nil, nil); err != nil && !isStatus(err, http.StatusNotFound) {
			return dropped, err
		}
		dropped = append(dropped, index)
	}
	return dropped, nil
}
