package opensearch

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"pigrep/internal/lists"
)

// A state is the manifest of its file: it is sent when all its documents are confirmed, and says how many
// these are. Who can delete documents, or a month, does not change the states, and so the engine's own counts
// show what is lost.

// tally is how many documents there are, and the sum of the offsets and parts in their ids.
type tally struct {
	N   int64 `json:"n"`
	Sum int64 `json:"sum"`
}

func (t *tally) add(of tally) { t.N, t.Sum = t.N+of.N, t.Sum+of.Sum }

// manifest says which documents of a session file are there, beside those with its record.
type manifest struct {
	All      tally `json:"all"`
	Recorded tally `json:"recorded"` // of lines that the record is of: a push goes on from there
}

// recordDocuments is how many documents a record has.
const recordDocuments = 2

// lacks returns how many documents of a file are lost, given what there is; 0 if none is.
func (s *state) lacks(got tally) int64 {
	want := s.Facts.Manifest.All
	switch want.N += recordDocuments; {
	case want.N == recordDocuments: // an older pigrep does not say
		return min(int64(s.Lines), max(0, 1-got.N))
	case got.N == want.N && got.Sum != want.Sum:
		return 1
	}
	return max(0, want.N-got.N)
}

// fileGen is a generation of a file.
type fileGen struct {
	key string
	gen int64
}

// tallies counts the documents of all files that pass a query.
func (a *Archive) tallies(ctx context.Context, index string, query object) (map[fileGen]tally, error) {
	got := make(map[fileGen]tally)
	by := func(field string) object { return object{"terms": object{"field": field}} }
	sum := func(field string) object { return object{"sum": object{"field": field}} }
	sources := object{"size": pageHits, "sources": []object{{"file": by("file_key")}, {"gen": by("gen")}}}
	for range mostPages {
		body := object{"size": 0, "query": all(object{"exists": object{"field": "file_key"}}, query), "track_total_hits": false, "aggs": object{"files": object{
			"composite": sources, "aggs": object{"offset": sum("offset"), "part": sum("part")},
		}}}
		found, err := find[struct{}](ctx, a, index, "", body)
		if err != nil {
			return nil, err
		}
		files := found.Aggregations.Files
		for _, b := range files.Buckets {
			got[fileGen{b.Key.File, b.Key.Gen}] = tally{b.Documents, int64(b.Offset.Value) + int64(b.Part.Value)}
		}
		if len(files.Buckets) < pageHits {
			return got, nil
		}
		sources["after"] = files.After
	}
	return nil, a.wrap(ctx, errRepeated)
}

// Lost is a session file of which documents are not where its manifest says.
type Lost struct {
	Host  string `json:"host"`
	Path  string `json:"path"`
	Month string `json:"month"`
	Lacks int64  `json:"lacks"` // documents
}

// Check compares the manifests of all session files with the engine's counts.
func (a *Archive) Check(ctx context.Context) (lost []Lost, files int, err error) {
	if err := a.check(ctx); err != nil {
		return nil, 0, err
	}
	if err := a.refresh(ctx, a.everything()); err != nil {
		return nil, 0, err
	}
	var list []*state
	if _, err := a.states(ctx, a.allSessions(), nil, false, func(s *state) error { list = append(list, s); return nil }); err != nil {
		return nil, 0, err
	}
	// Counted after the manifests are read: a push that runs only adds to what they say.
	got, err := a.tallies(ctx, a.alias(), nil)
	if err != nil {
		return nil, 0, err
	}
	for _, s := range list {
		if n := s.lacks(got[fileGen{s.FileKey, s.Gen}]); n > 0 {
			lost = append(lost, Lost{s.Host, s.Path, s.Month, n})
		}
	}
	return lost, len(list), nil
}

// indices returns the indices of months that there are.
func (a *Archive) indices(ctx context.Context) (list []string, err error) {
	var answer struct{ Indices []string }
	err = a.call(ctx, http.MethodGet, a.monthly("*")+"/_field_caps?fields=gen&allow_no_indices=true", nil, &answer)
	slices.Sort(answer.Indices)
	return answer.Indices, err
}

// gone returns how many session files are in months of which the index is gone; 0 to who has no right to know.
func (a *Archive) gone(ctx context.Context) (files int, err error) {
	there, err := a.indices(ctx)
	if err != nil {
		if isStatus(err, http.StatusForbidden) {
			err = nil
		}
		return 0, err
	}
	body := object{"size": 0, "query": all(term("sort", sortSession), within("lines", "gte", 1)), "aggs": object{"months": object{"terms": object{"field": "month", "size": pageHits}}}}
	found, err := find[struct{}](ctx, a, a.allSessions(), "", body)
	if err != nil {
		return 0, err
	}
	for _, b := range found.Aggregations.Months.Buckets {
		if !slices.Contains(there, a.monthly(b.Key)) {
			files += int(b.Documents)
		}
	}
	return files, nil
}

// Memory is what a watch knows of an archive from one push to the next, so that a new line costs two requests.
type Memory struct {
	known    map[string]*state    // by file key, what the archive has of this machine; nil: it has to be asked
	deleted  map[string]*state    // the tombstones of this machine
	lost     map[string]bool      // files of which documents are lost
	months   map[string]bool      // whose index exists
	records  map[string]*document // of files that have grown since the first push
	read     time.Time            // when the archive was asked
	sums     Report               // what was sent since the last line of account
	account  time.Time            // when that was sent
	damaged  int
	watching bool
}

// memoryLasts is how long a watch relies on its memory, and how often it sends a line of account.
const memoryLasts = 24 * time.Hour

// recall reads what the archive has of this machine, unless that is known.
func (p *pushing) recall(ctx context.Context) error {
	m, now := p.Memory, p.Now()
	if age := now.Sub(m.read); m.known != nil && age >= 0 && age < memoryLasts {
		m.watching = true
		return nil
	}
	if err := p.archive.check(ctx); err != nil {
		return err
	}
	*m = Memory{
		known: make(map[string]*state), deleted: make(map[string]*state), lost: make(map[string]bool), months: make(map[string]bool),
		records: make(map[string]*document), read: now, sums: m.sums, account: m.account,
	}
	if err := p.archive.refresh(ctx, p.archive.sent()+","+p.archive.sessionsIndex(p.archive.config.Owner)); err != nil {
		return err
	}
	host := term("host", p.Host)
	damaged, err := p.archive.states(ctx, p.archive.sessionsIndex(p.archive.config.Owner), host, false, func(s *state) error { m.known[s.FileKey] = s; return nil })
	if err != nil {
		return err
	}
	m.damaged = len(damaged)
	if err := p.archive.tombstones(ctx, host, func(s *state) { m.deleted[s.FileKey] = s }); err != nil {
		return err
	}
	got, err := p.archive.tallies(ctx, p.archive.sent(), host)
	for key, s := range m.known {
		m.lost[key] = err == nil && s.lacks(got[fileGen{key, s.Gen}]) > 0
	}
	return err
}

// The version of a document is the generation of its file. The engine raises it with each deletion, and
// remembers the version of a deleted document for a minute: until then, sending the document again is a conflict;
// after that, it is not. So a tombstone takes the next generation, and a session that is sent again begins above
// it. A conflict never counts as a document that is there: the push reads the state again, and unless the state
// has a newer generation, it sends the whole file in a generation above the version in the engine's answer.
// A tombstone is a state with a version above all others of its generation: a push that does not know of the
// tombstone yet meets a conflict when it claims its documents, and deletes them.

// stateBits is how many bits of the version of a state are below the generation.
const stateBits = 20

func (s *state) version() int64 {
	version := s.Gen << stateBits
	if s.Sort == sortDeleted {
		version += 1 << (stateBits - 1)
	}
	return version
}

// conflictIn returns the version that a document has, from what the engine says of a conflict.
var conflictForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`current version \[(\d{1,18})\]`) })

// conflict notes that a document of another version is there, or was. The caller holds mu.
func (p *pushing) conflict(item *bulkItem) {
	key, _, isPart := strings.Cut(item.ID, ":")
	version := p.sent[key]
	if found := conflictForm().FindStringSubmatch(item.Error.Reason); found != nil {
		if n, _ := strconv.ParseInt(found[1], 10, 64); isPart {
			version = max(version, n)
		} else {
			version = max(version, n>>stateBits)
		}
	}
	p.conflicts[key] = max(p.conflicts[key], version)
}

// mostRounds is how often files are sent again because of conflicts.
const mostRounds = 3

// settleConflicts sends the files again of which documents met a conflict.
func (p *pushing) settleConflicts(ctx context.Context) error {
	chosen := p.chosen
	for round := 0; len(p.conflicts) > 0; round++ {
		conflicts := p.conflicts
		p.conflicts, p.named, p.Sessions = make(map[string]int64), make(map[string]bool), nil
		p.Memory.known = nil
		if err := p.recall(ctx); err != nil {
			return err
		}
		for i := range chosen {
			key := keyOf(p.Host, p.masked(chosen[i]).Path)
			version, ok := conflicts[key]
			switch known := p.known()[key]; {
			case !ok:
				continue
			case p.Memory.deleted[key] != nil && !p.Again: // while it was sent
				if err := p.archive.deleteFrom(ctx, p.archive.sent(), term("file_key", key), key); err != nil && !isStatus(err, http.StatusForbidden) {
					return err
				}
			case known != nil && known.Gen > p.sent[key]:
				p.report.Newer++
				continue
			case round == mostRounds:
				p.report.Failed = append(p.report.Failed, chosen[i].Path+": somebody else sends it at the same time")
				continue
			default:
				p.renew[key] = version + 1
			}
			p.report.Sessions = max(0, p.report.Sessions-1)
			p.Sessions = append(p.Sessions, chosen[i])
		}
		if err := p.send(ctx); err != nil {
			return err
		}
	}
	return nil
}

// tombstones visits the tombstones of session files that pass a query.
func (a *Archive) tombstones(ctx context.Context, query object, visit func(*state)) error {
	body := object{"size": pageSize, "query": all(term("sort", sortDeleted), query), "track_total_hits": false, "sort": []object{by("file_key", "keyword")}}
	return pages(ctx, a, a.sessionsIndex(a.config.Owner), "", body, func(h *hit[state]) error {
		if s := &h.Source; h.err == nil && h.ID == s.FileKey && s.FileKey == keyOf(s.Host, s.Path) && s.Gen > 0 {
			visit(s)
		}
		return nil
	})
}

// Forget deletes session files, proves that nothing is left of them, and leaves a tombstone for each.
func (a *Archive) Forget(ctx context.Context, list []Match, by string, now time.Time) error {
	p := a.pushing(&Push{Now: func() time.Time { return now }})
	for some := range slices.Chunk(list, 200) {
		of := object{"terms": object{"file_key": lists.Map(some, func(m Match) string { return m.Key })}}
		if err := a.deleteFrom(ctx, a.alias(), of, ""); err != nil {
			return err
		}
		if err := a.refresh(ctx, a.alias()); err != nil {
			return err
		}
		left, err := a.counted(ctx, a.alias(), of)
		if err == nil && left > 0 {
			err = a.wrap(ctx, fmt.Errorf("%d documents in %s are left", left, a.alias()))
		}
		if err != nil {
			return err
		}
		var b batch // the states last: a deletion that is killed can be repeated
		for _, m := range some {
			was := m.state
			stone := state{
				Sort: sortDeleted, FileKey: was.FileKey, Host: was.Host, User: by, Agent: was.Agent, Path: was.Path, Month: was.Month,
				Gen: was.Gen + 1, Pushed: millis(now), Facts: facts{Manifest: was.Facts.Manifest},
			}
			if err := b.state(a, &stone); err != nil {
				return err
			}
		}
		if err := p.bulk(ctx, b.items); err != nil {
			return err
		}
		switch refused := p.report.Refused; {
		case len(p.conflicts) > 0:
			return a.wrap(ctx, fmt.Errorf("%d session files are being written by somebody else", len(p.conflicts)))
		case len(refused) > 0:
			return a.wrap(ctx, fmt.Errorf("no tombstone of %s: %s", refused[0].Document, refused[0].Reason))
		}
	}
	return a.refresh(ctx, a.allSessions())
}

// state adds a state.
func (b *batch) state(a *Archive, st *state) error {
	return b.add(object{"_index": a.sessionsIndex(ownerOf(st.Month)), "_id": st.FileKey, "version": st.version(), "version_type": "external_gte"}, st)
}

// account sends a line that says who sent how much; a watch sends one a day.
func (p *pushing) account(ctx context.Context) error {
	m, now, sums := p.Memory, p.Now(), &p.Memory.sums
	sums.Sessions, sums.Documents, sums.Bytes = sums.Sessions+p.report.Sessions, sums.Documents+p.report.Documents, sums.Bytes+p.report.Bytes
	if age := now.Sub(m.account); sums.Documents == 0 || age >= 0 && age < memoryLasts {
		return nil
	}
	done := object{
		"sort": sortPush, "host": p.Host, "user": p.User, "pushed": millis(now),
		"sessions": sums.Sessions, "documents": sums.Documents, "bytes": sums.Bytes,
	}
	*sums, m.account = Report{}, now
	return p.archive.call(ctx, http.MethodPost, p.archive.sessionsIndex(p.archive.config.Owner)+"/_doc", done, nil)
}
