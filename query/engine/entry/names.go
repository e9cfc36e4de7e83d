package entry

import (
	"reflect"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"pigrep/index"
	"pigrep/index/record"
	"pigrep/internal/lists"
	"pigrep/internal/near"
	"pigrep/internal/session"
)

// Naming shortens the id of an entry to the shortest prefix, of at least eight characters, that no other
// id of the session has. sessions.FindEntry accepts such prefixes. Naming reads only the sessions whose
// entries it names. It is safe for concurrent use.
type Naming struct {
	reader *index.Reader
	mu     sync.Mutex
	known  map[string]*entryIDs // by the path of a file
}

// mostKnown is how many files are remembered.
const mostKnown = 100

// NewNaming returns the names of the entries of an index, which must stay open.
func NewNaming(r *index.Reader) *Naming {
	return &Naming{reader: r, known: make(map[string]*entryIDs)}
}

// Short shortens the id of an entry of a session file. It returns the id itself if the file is not
// indexed.
func (n *Naming) Short(path, id string) string {
	if !isLong(id) {
		return id
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.of(path, nil).short(id)
}

// Know takes the outline of a file, so that it need not be read again.
func (n *Naming) Know(o *record.Outline) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.of(o.Record.Path, o)
}

func (n *Naming) of(path string, own *record.Outline) *entryIDs {
	ids, ok := n.known[path]
	if ok {
		return ids
	}
	if len(n.known) >= mostKnown {
		clear(n.known)
	}
	ids = &entryIDs{}
	for _, file := range n.reader.Chains().Session(path) {
		if file == path && own != nil {
			ids.outlines = append(ids.outlines, own)
		} else if i, there := n.reader.Table().Find(file); there {
			if o, err := n.reader.Outline(n.reader.Table().File(i), nil); err == nil && o != nil {
				ids.outlines = append(ids.outlines, o)
			}
		}
	}
	n.known[path] = ids
	return ids
}

// Of returns a function that shortens the ids of the entries of a session file.
func (n *Naming) Of(path string) func(id string) string {
	return func(id string) string { return n.Short(path, id) }
}

// Name fills in the short id of the entry of a session file.
func (n *Naming) Name(path string, e *session.EntryName) {
	if e.ShortEntryID == "" {
		*e = session.NewEntryName(e.EntryID, n.Short(path, e.EntryID))
	}
}

// NameAll fills in the short ids of all entries in an answer, which is a pointer. An entry belongs to the
// session that the nearest SessionPath beside or above it names, or else to the session at path.
func (n *Naming) NameAll(answer any, path string) { n.nameAll(reflect.ValueOf(answer), path) }

func (n *Naming) nameAll(v reflect.Value, path string) {
	switch v.Kind() {
	case reflect.Pointer:
		n.nameAll(v.Elem(), path)
	case reflect.Slice:
		if mayName(v.Type().Elem()) {
			for i := range v.Len() {
				n.nameAll(v.Index(i), path)
			}
		}
	case reflect.Struct:
		if e, ok := v.Addr().Interface().(*session.EntryName); ok {
			n.Name(path, e)
			return
		}
		of := namedOf(v.Type())
		if of.path != nil {
			if own := v.FieldByIndex(of.path).String(); own != "" {
				path = own
			}
		}
		for _, i := range of.fields {
			n.nameAll(v.Field(i), path)
		}
	}
}

// named lists the fields of a struct type that may contain names of entries.
type named struct {
	path   []int // of its SessionPath; nil for none
	fields []int
}

var namedIn sync.Map // by reflect.Type

func namedOf(t reflect.Type) *named {
	if known, ok := namedIn.Load(t); ok {
		return known.(*named)
	}
	of := &named{}
	if f, ok := t.FieldByName("SessionPath"); ok {
		of.path = f.Index
	}
	for i := range t.NumField() {
		if f := t.Field(i); f.IsExported() && mayName(f.Type) {
			of.fields = append(of.fields, i)
		}
	}
	namedIn.Store(t, of)
	return of
}

// mayName reports whether a value of a type may contain names of entries.
func mayName(t reflect.Type) bool {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	return t.Kind() == reflect.Struct && t != reflect.TypeFor[session.Time]()
}

func isLong(id string) bool { return len(id) > near.ShortID && id[0] != '@' }

// ShortIDs shortens the ids of a record as Naming does, for a session that is not indexed.
func ShortIDs(rec *session.Record) func(id string) string {
	ids := &entryIDs{}
	ids.add(lists.Map(rec.Nodes, func(n session.Node) string { return n.ID }))
	return func(id string) string {
		if !isLong(id) {
			return id
		}
		return ids.short(id)
	}
}

// entryIDs are the ids of the entries of a session.
type entryIDs struct {
	outlines []*record.Outline
	asked    int
	sorted   []string // all ids; nil until they are needed
}

// fewEntries is the number of look-ups that take less time than decoding and sorting all ids.
const fewEntries = 8

func (s *entryIDs) short(id string) string {
	if len(s.outlines) == 0 && s.sorted == nil {
		return id
	}
	base, again := CutAgain(id)
	n := shortest(base, near.ShortID)
	if s.sorted == nil {
		s.asked++
		if s.asked <= fewEntries && !slices.ContainsFunc(s.outlines, func(o *record.Outline) bool { return o.MayHaveOther(base, n) }) {
			return base[:n] + again
		}
		for _, o := range s.outlines {
			s.add(o.IDs())
		}
	}
	return base[:shortest(base, max(n, near.SharedStart(s.sorted, base)+1))] + again
}

func (s *entryIDs) add(ids []string) {
	for _, id := range ids {
		base, _ := CutAgain(id)
		s.sorted = append(s.sorted, base)
	}
	slices.Sort(s.sorted)
}

// shortest returns the length of the beginning of an id that has at least n bytes and whole
// characters.
func shortest(id string, n int) int {
	for n < len(id) && !utf8.RuneStart(id[n]) {
		n++
	}
	return min(n, len(id))
}

// CutAgain splits a session.AgainID.
func CutAgain(id string) (base, again string) {
	if i := strings.LastIndexByte(id, '~'); i > 0 && strings.Trim(id[i+1:], "0123456789") == "" {
		return id[:i], id[i:]
	}
	return id, ""
}
