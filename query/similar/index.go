package similar

import (
	"cmp"
	"context"

	"pigrep/adapter"
	"pigrep/index"
	"pigrep/index/segment"
	"pigrep/internal/session"
	"pigrep/query/engine/docset"
	"pigrep/query/engine/entry"
	"pigrep/query/engine/words"
	"pigrep/query/search"
	"pigrep/query/sessions"
)

// Index is what finding similar sessions asks: one index, or several that answer together.
type Index interface {
	Weigh(context.Context, Weighing) (*Weighed, error)
	Compare(context.Context, Comparison) (*Compared, error)
}

// Relatives are a session, its forks and ancestors, and other files of it.
type Relatives struct {
	Path  string   // of the session
	Known []uint64 // identities of relatives, which may be in several indexes: see session.Summary
}

// Weighing asks what terms weigh.
type Weighing struct {
	Relatives
	search.Joint
	Terms   []string // whose documents are counted
	Counted []string // of which it is counted in how many sessions they are, but for the relatives
}

// Weighed is the answer to it.
type Weighed struct {
	Relatives
	Statistics words.Statistics // of Terms
	Others     []int            // sessions with each of Counted, in the kinds that are searched
	Sessions   int              // in the index
	search.About
}

// Comparison asks for sessions that are no relatives.
type Comparison struct {
	search.Request
	Of    Relatives
	Marks []uint32 // of the entries of the session: see sessions.Marks
}

// Compared is the answer to it.
type Compared struct {
	Found *search.Response
	Known []Known // of its sessions
}

// Known is what is known of a session that was found.
type Known struct {
	SessionPath string
	ParentPath  string `json:",omitempty"`
	Same        bool   `json:",omitempty"` // it consists mostly of entries of the session it is compared with
}

// Local is the index of this machine. It is used by one goroutine.
type Local struct {
	Reader  *index.Reader
	Adapter adapter.Adapter
	Source  entry.Source

	lineage *sessions.Lineage
}

// family returns the relatives of a session among the files of the index, also of those that are in
// others if several answer.
func (x *Local) family(of *Relatives, several bool) map[int]bool {
	if x.lineage == nil {
		x.lineage = sessions.NewLineage(x.Reader)
	}
	family := x.lineage.Family(x.lineage.IndexOf(of.Path))
	if !several {
		return family
	}
	known := make(map[uint64]bool)
	for _, id := range of.Known {
		known[id] = true
	}
	identities := make(map[int]uint64)
	for i, s := range x.Reader.Beginnings() {
		if identities[i] = s.Identity(); known[identities[i]] && !family[i] {
			for k := range x.lineage.Family(i) {
				family[k] = true
			}
		}
	}
	for i := range family {
		if id := identities[i]; id != 0 && !known[id] {
			known[id] = true
			of.Known = append(of.Known, id)
		}
	}
	return family
}

// Weigh implements Index.
func (x *Local) Weigh(ctx context.Context, req Weighing) (*Weighed, error) {
	resp := &Weighed{Sessions: x.Reader.Table().Len(), About: search.About{Index: search.StateOf(x.Reader)}}
	own, elsewhere := make(map[uint32]bool), req.IsElsewhere()
	for i := range x.family(&req.Relatives, req.Shared != nil) {
		own[x.Reader.Table().File(i)] = true
	}
	if len(elsewhere) > 0 {
		for i, s := range x.Reader.Beginnings() {
			if elsewhere[s.Identity()] {
				own[x.Reader.Table().File(i)] = true
				resp.Sessions--
			}
		}
	}
	resp.Relatives = req.Relatives
	counted, err := words.Frequencies(x.Reader, req.Terms, elsewhere)
	if err != nil {
		return nil, err
	}
	resp.Statistics = *counted
	resp.Others, err = x.others(ctx, req.Counted, own)
	return resp, err
}

// others returns in how many sessions each term is, but for some files.
func (x *Local) others(ctx context.Context, terms []string, but map[uint32]bool) ([]int, error) {
	found := make([]map[uint32]bool, len(terms))
	for _, seg := range x.Reader.Segments() {
		if err := ctx.Err(); err != nil || len(terms) == 0 {
			return nil, err
		}
		files, err := seg.Files()
		if err != nil {
			return nil, err
		}
		wanted, err := docset.ByKind(seg, kinds...)
		if err != nil {
			return nil, err
		}
		for i, t := range terms {
			docs, err := seg.Bitmap(segment.FieldText, []byte(t))
			if err != nil {
				return nil, err
			}
			for it := docs.Iterator(); it.HasNext(); {
				doc := it.Next()
				if file := files.File(doc); wanted.Has(doc) && !but[file] {
					if found[i] == nil {
						found[i] = make(map[uint32]bool)
					}
					found[i][file] = true
				}
			}
		}
		seg.Trim()
	}
	counts := make([]int, len(terms))
	for i := range found {
		counts[i] = len(found[i])
	}
	return counts, nil
}

// Compare implements Index.
func (x *Local) Compare(ctx context.Context, req Comparison) (*Compared, error) {
	family := x.family(&req.Of, req.Shared != nil)
	req.Only = func(s *session.Summary) bool { return !family[x.lineage.IndexOf(s.Path)] }
	found, err := search.Run(ctx, x.Reader, x.Adapter, x.Source, req.Request)
	if err != nil {
		return nil, err
	}
	resp := &Compared{Found: found}
	for i := range found.Sessions {
		at := x.lineage.IndexOf(found.Sessions[i].SessionPath)
		if at < 0 {
			continue
		}
		of := Known{SessionPath: found.Sessions[i].SessionPath}
		if p := x.lineage.Parent(at); p != nil {
			of.ParentPath = p.Path
		}
		rec, err := x.Reader.Record(x.Reader.Table().File(at))
		if err = cmp.Or(err, ctx.Err()); err != nil {
			return nil, err
		}
		of.Same = rec != nil && 2*sessions.Shared(rec, req.Marks) > min(len(rec.Nodes), len(req.Marks))
		resp.Known = append(resp.Known, of)
	}
	return resp, nil
}
