package opensearch

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"pigrep/remote"
)

// fake is as much of OpenSearch's HTTP interface as the sender and the reader of lines use. It
// keeps documents by index and id, and understands term, terms, range, exists and bool; other
// clauses pass, which a second step has to make up for anyway.
type fake struct {
	*httptest.Server
	t *testing.T

	mu        sync.Mutex
	indices   map[string]map[string]fakeDocument
	templates map[string]json.RawMessage
	requests  []string
	bodies    []string

	// item, if not nil, may answer for an item of _bulk; 0 leaves it to the fake.
	item func(id string, try int) (status int, kind string)
	// before, if not nil, may answer a request.
	before func(w http.ResponseWriter, r *http.Request) bool
	tries  map[string]int
	dead   map[string]int64 // the versions of documents that were deleted
}

type fakeDocument struct {
	version int64
	source  map[string]any
}

func newFake(t *testing.T) *fake {
	f := &fake{t: t, indices: make(map[string]map[string]fakeDocument), templates: make(map[string]json.RawMessage), tries: make(map[string]int), dead: make(map[string]int64)}
	f.Server = httptest.NewServer(f)
	t.Cleanup(f.Close)
	return f
}

// archive is set up, and tries again at once.
func (f *fake) archive() *Archive {
	a, err := Open(Config{Name: "team", URL: f.URL})
	if err != nil {
		f.t.Fatal(err)
	}
	a.pause = 1
	if _, err := a.Init(f.t.Context(), 1, false); err != nil {
		f.t.Fatal(err)
	}
	return a
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var in io.Reader = r.Body
	if r.Header.Get("Content-Encoding") == "gzip" {
		if in, _ = gzip.NewReader(r.Body); in == (*gzip.Reader)(nil) {
			return // the client was killed
		}
	}
	body, err := io.ReadAll(in)
	if err != nil {
		return // the client was killed
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.requests, f.bodies = append(f.requests, r.Method+" "+r.URL.RequestURI()), append(f.bodies, string(body))
	if f.before != nil && f.before(w, r) {
		return
	}
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	path := strings.TrimPrefix(r.URL.Path, "/")
	name, verb, _ := strings.Cut(path, "/")
	switch {
	case path == "":
		fmt.Fprint(w, `{"cluster_name":"fake","version":{"number":"2.19.6","distribution":"opensearch"}}`)
	case path == "_cluster/health":
		fmt.Fprint(w, `{"status":"green"}`)
	case name == "_index_template":
		f.template(w, r, verb, body)
	case name == "_bulk":
		f.bulk(w, body)
	case name == "_mget":
		f.get(w, body)
	case verb == "_field_caps":
		names := []string{}
		for index := range f.indices {
			if strings.HasPrefix(index, strings.TrimSuffix(name, "*")) {
				names = append(names, index)
			}
		}
		text, _ := json.Marshal(names)
		fmt.Fprintf(w, `{"indices":%s}`, text)
	case name == "_cat":
		fmt.Fprint(w, `[]`)
	case verb == "":
		f.index(w, r, name)
	case verb == "_refresh":
		fmt.Fprint(w, `{}`)
	case verb == "_search":
		f.search(w, name, body)
	case verb == "_count":
		fmt.Fprintf(w, `{"count":%d}`, len(f.find(name, body)))
	case verb == "_delete_by_query":
		for _, id := range f.find(name, body) {
			for index, documents := range f.indicesOf(name) {
				if d, ok := documents[id]; ok { // whose version is remembered for a minute
					f.dead[index+"/"+id] = d.version + 1
				}
				delete(documents, id)
			}
		}
		fmt.Fprint(w, `{}`)
	case verb == "_doc":
		f.store(name, fmt.Sprint("doc", len(f.indices[name])), 0, body)
		fmt.Fprint(w, `{}`)
	case strings.HasPrefix(verb, "_update/"):
		var change struct{ Doc map[string]any }
		_ = json.Unmarshal(body, &change)
		for k, v := range change.Doc {
			f.indices[name][strings.TrimPrefix(verb, "_update/")].source[k] = v
		}
		fmt.Fprint(w, `{}`)
	default:
		f.t.Errorf("the fake has no %s %s", r.Method, r.URL)
	}
}

func (f *fake) template(w http.ResponseWriter, r *http.Request, name string, body []byte) {
	if r.Method == http.MethodPut {
		if !json.Valid(body) {
			f.t.Errorf("template %s is no JSON", name)
		}
		f.templates[name] = body
		fmt.Fprint(w, `{}`)
		return
	}
	list := []string{}
	for have, template := range f.templates {
		if strings.HasPrefix(have, strings.TrimSuffix(name, "*")) {
			list = append(list, fmt.Sprintf(`{"name":%q,"index_template":%s}`, have, template))
		}
	}
	fmt.Fprintf(w, `{"index_templates":[%s]}`, strings.Join(list, ","))
}

func (f *fake) get(w http.ResponseWriter, body []byte) {
	var q struct {
		Docs []struct {
			Index string `json:"_index"`
			ID    string `json:"_id"`
		}
	}
	_ = json.Unmarshal(body, &q)
	list := []map[string]any{}
	for _, d := range q.Docs {
		list = append(list, map[string]any{"_index": d.Index, "_id": d.ID, "_source": f.indices[d.Index][d.ID].source})
	}
	data, _ := json.Marshal(map[string]any{"docs": list})
	_, _ = w.Write(data)
}

func (f *fake) index(w http.ResponseWriter, r *http.Request, name string) {
	switch {
	case r.Method == http.MethodHead && f.indices[name] == nil:
		w.WriteHeader(http.StatusNotFound)
	case r.Method == http.MethodPut && f.indices[name] != nil:
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, `{"error":{"type":"resource_already_exists_exception","reason":"there"}}`)
	case r.Method == http.MethodPut:
		f.indices[name] = make(map[string]fakeDocument)
		fmt.Fprint(w, `{}`)
	}
}

func (f *fake) store(index, id string, version int64, source []byte) (status int) {
	var d fakeDocument
	if err := json.Unmarshal(source, &d.source); err != nil {
		f.t.Errorf("document %s: %v", id, err)
	}
	if f.indices[index] == nil {
		return http.StatusNotFound
	}
	if old, ok := f.indices[index][id]; ok && version < old.version {
		return http.StatusConflict
	}
	if version < f.dead[index+"/"+id] {
		return http.StatusConflict
	}
	d.version = version
	f.indices[index][id] = d
	return http.StatusCreated
}

func (f *fake) bulk(w http.ResponseWriter, body []byte) {
	var items []string
	lines := bufio.NewScanner(bytes.NewReader(body))
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var action struct {
			Index struct {
				Index   string `json:"_index"`
				ID      string `json:"_id"`
				Version int64  `json:"version"`
			}
		}
		if err := json.Unmarshal(lines.Bytes(), &action); err != nil || !lines.Scan() {
			f.t.Errorf("a bulk of another form: %v", err)
			return
		}
		id, status, kind := action.Index.ID, 0, ""
		f.tries[id]++
		if f.item != nil {
			status, kind = f.item(id, f.tries[id])
		}
		if status == 0 {
			status = f.store(action.Index.Index, id, action.Index.Version, lines.Bytes())
		}
		reason := "because"
		if at := action.Index.Index + "/" + id; status == http.StatusConflict {
			reason = fmt.Sprintf("[%s]: version conflict, current version [%d] is higher than the one provided [%d]", id, max(f.dead[at], f.indices[action.Index.Index][id].version), action.Index.Version)
		}
		items = append(items, fmt.Sprintf(`{"index":{"_id":%q,"status":%d,"error":{"type":%q,"reason":%q}}}`, id, status, kind, reason))
	}
	fmt.Fprintf(w, `{"errors":true,"items":[%s]}`, strings.Join(items, ","))
}

// indicesOf returns the indices of a name or alias.
func (f *fake) indicesOf(name string) map[string]map[string]fakeDocument {
	of := make(map[string]map[string]fakeDocument)
	for index, documents := range f.indices {
		for name := range strings.SplitSeq(name, ",") {
			if prefix, any := strings.CutSuffix(name, "*"); index == name || strings.HasPrefix(index, name+"-v2-") || any && strings.HasPrefix(index, prefix) {
				of[index] = documents
			}
		}
	}
	return of
}

func (f *fake) find(name string, body []byte) (ids []string) {
	var q struct{ Query map[string]any }
	if err := json.Unmarshal(body, &q); err != nil {
		f.t.Errorf("query %s: %v", body, err)
	}
	for _, documents := range f.indicesOf(name) {
		for id, d := range documents {
			if passes(id, d.source, q.Query) {
				ids = append(ids, id)
			}
		}
	}
	slices.Sort(ids)
	return ids
}

func passes(id string, d map[string]any, query map[string]any) bool {
	for clause, v := range query {
		in, _ := v.(map[string]any)
		for field, want := range in {
			got := d[field]
			switch clause {
			case "term":
				if m, ok := want.(map[string]any); ok {
					want = m["value"]
				}
				if !strings.EqualFold(fmt.Sprint(got), fmt.Sprint(want)) {
					return false
				}
			case "terms":
				if list, _ := want.([]any); !slices.Contains(list, got) {
					return false
				}
			case "function_score":
				if of, ok := want.(map[string]any); ok && field == "query" && !passes(id, d, of) {
					return false
				}
			case "ids":
				if list, _ := want.([]any); !slices.Contains(list, any(id)) {
					return false
				}
			case "exists":
				if field == "field" && d[want.(string)] == nil {
					return false
				}
			case "range":
				n, _ := got.(float64)
				span := want.(map[string]any)
				if gte, ok := span["gte"].(float64); ok && field == "lines" && n < gte {
					return false
				}
				if lt, ok := span["lt"].(float64); ok && n >= lt {
					return false
				}
			case "bool":
				if field == "should" && in["minimum_should_match"] != nil && !slices.ContainsFunc(listOf(want), func(each map[string]any) bool { return passes(id, d, each) }) {
					return false
				}
				for _, each := range listOf(want) {
					if ok := passes(id, d, each); (field == "filter" || field == "must") && !ok || field == "must_not" && ok {
						return false
					}
				}
			}
		}
	}
	return true
}

func listOf(v any) (list []map[string]any) {
	switch v := v.(type) {
	case []any:
		for _, each := range v {
			list = append(list, each.(map[string]any))
		}
	case map[string]any:
		list = append(list, v)
	}
	return list
}

// tallies counts documents by file and generation.
func (f *fake) tallies(name string, body []byte) []any {
	type tallied struct{ n, offset, part float64 }
	sums := make(map[[2]any]tallied)
	for _, documents := range f.indicesOf(name) {
		for _, id := range f.find(name, body) {
			if d, ok := documents[id]; ok {
				key := [2]any{d.source["file_key"], d.source["gen"]}
				s := sums[key]
				sums[key] = tallied{s.n + 1, s.offset + d.source["offset"].(float64), s.part + d.source["part"].(float64)}
			}
		}
	}
	buckets := []any{}
	for key, s := range sums {
		buckets = append(buckets, map[string]any{
			"key": map[string]any{"file": key[0], "gen": key[1]}, "doc_count": s.n, "offset": map[string]any{"value": s.offset}, "part": map[string]any{"value": s.part},
		})
	}
	return buckets
}

// search answers in pages, in the order of lines or of files.
func (f *fake) search(w http.ResponseWriter, name string, body []byte) {
	var q struct {
		Size  int
		After []float64 `json:"search_after"`
	}
	_ = json.Unmarshal(body, &q) // a search_after of states has a string
	type hit struct {
		Index  string         `json:"_index"`
		ID     string         `json:"_id"`
		Source map[string]any `json:"_source"`
		Sort   []any          `json:"sort"`
		line   float64
	}
	var hits []hit
	keys := make(map[string]bool)
	for _, id := range f.find(name, body) {
		for index, documents := range f.indicesOf(name) {
			d, ok := documents[id]
			if !ok {
				continue
			}
			line, _ := d.source["line"].(float64)
			if len(q.After) > 0 && line <= q.After[0] {
				continue
			}
			key, _ := d.source["file_key"].(string)
			keys[key] = true
			hits = append(hits, hit{index, id, d.source, []any{line, line}, line})
		}
	}
	if !strings.Contains(string(body), `"sort":[{"file_key":`) { // that is the order of ids
		slices.SortStableFunc(hits, func(a, b hit) int { return int(a.line - b.line) })
	}
	hits = hits[:min(len(hits), q.Size)]
	if hits == nil {
		hits = []hit{}
	}
	buckets := []any{}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		buckets = append(buckets, map[string]any{"key": map[string]any{"file": key}, "doc_count": 1})
	}
	months := []any{}
	switch {
	case strings.Contains(string(body), `"gen":{"terms"`):
		buckets = f.tallies(name, body)
	case strings.Contains(string(body), `"months"`):
		counts := make(map[string]int)
		for _, id := range f.find(name, body) {
			for _, documents := range f.indicesOf(name) {
				if d, ok := documents[id]; ok {
					counts[d.source["month"].(string)]++
				}
			}
		}
		for month, n := range counts {
			months = append(months, map[string]any{"key": month, "doc_count": n})
		}
	}
	data, err := json.Marshal(map[string]any{"hits": map[string]any{"hits": hits}, "aggregations": map[string]any{"files": map[string]any{"buckets": buckets}, "months": map[string]any{"buckets": months}}})
	if err != nil {
		f.t.Error(err)
	}
	_, _ = w.Write(data)
}

// ask returns what the archive sends for a question, in how many parts, and what it says of it.
func ask(ctx context.Context, a *Archive, q Question) (list []*chosen, c remote.Coverage, err error) {
	parts, err := a.Divide(ctx, &q)
	for _, p := range parts {
		s, err := p.fetch(ctx)
		if err != nil {
			return nil, c, err
		}
		list = append(list, s.list...)
		c.Sessions, c.Sent, c.Lost, c.Damaged = c.Sessions+s.files, c.Sent+len(s.list), c.Lost+p.lost, c.Damaged+len(p.damaged)
	}
	return list, c, err
}
