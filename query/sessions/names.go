package sessions

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"github.com/cespare/xxhash/v2"

	"pigrep/index"
	"pigrep/index/segment"
	"pigrep/internal/lists"
	"pigrep/internal/near"
	"pigrep/internal/session"
	"pigrep/query/engine/entry"
	"pigrep/query/engine/literal"
	"pigrep/query/engine/rank"
)

type NotFoundError struct {
	What    string // "session" or "entry"
	Name    string
	Nearest []string // ids that look like it, the nearest first
}

func (e *NotFoundError) Error() string { return fmt.Sprintf("no %s %s", e.What, e.Name) }

// AmbiguousError reports that a name matches several sessions or entries.
type AmbiguousError struct {
	What      string
	Name      string
	Sessions  []*session.Summary // for sessions, the latest activity first
	Entries   []string           // for entries of one session
	Locations []EntryLocation    // for entries of several sessions
}

func (e *AmbiguousError) Error() string {
	return fmt.Sprintf("%s matches %d %s; be more specific", e.Name, max(len(e.Sessions), len(e.Entries), len(e.Locations)),
		map[string]string{"session": "sessions", "entry": "entries"}[e.What])
}

// SplitTarget splits SESSION:ENTRY at its last colon. A colon inside a path does
// not count: an entry id contains no slash, and C:\ names a drive. SESSION@OFFSET needs no
// colon: hits show the ids of entries without one like that.
func SplitTarget(arg string) (name, entry string) {
	i := strings.LastIndexByte(arg, ':')
	if at := strings.LastIndexByte(arg, '@'); i < 0 && at >= 0 && isNumber(arg[at+1:]) {
		return arg[:at], arg[at:]
	}
	if i < 0 || i == len(arg)-1 || strings.ContainsAny(arg[i+1:], `/\`) || strings.HasSuffix(arg, session.Extension) {
		return strings.TrimSuffix(arg, ":"), ""
	}
	return arg[:i], arg[i+1:]
}

func isNumber(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// Last names the latest session; last~1 is the one before it.
const Last = "last"

// EntryName returns what commands accept as the name of an entry of a session: its id, or if that
// cannot be typed, @ and its offset.
func EntryName(id string, offset int64) string {
	if !session.IsTypable(strings.TrimPrefix(id, "@")) {
		return "@" + strconv.FormatInt(offset, 10)
	}
	return id
}

// FindSession returns the session that a user named: see findSession. Of several with one id it is
// the latest one; see Namesakes.
func FindSession(r *index.Reader, name string) (*session.Summary, error) {
	s, err := findSession(r.Summaries(), r.Chains(), name)
	if several, ok := errors.AsType[*AmbiguousError](err); ok && !slices.ContainsFunc(several.Sessions, func(o *session.Summary) bool {
		return o.ID == "" || o.ID != several.Sessions[0].ID || o.Agent != several.Sessions[0].Agent
	}) {
		return several.Sessions[0], nil
	}
	return s, err
}

// Namesakes returns the names of other sessions that have the id of a session, if it was named by
// this id.
func Namesakes(r *index.Reader, s *session.Summary, name string) []string {
	if s.ID == "" || !near.IsID(s.ID, strings.TrimSpace(name)) {
		return nil
	}
	others := r.Chains().Namesakes(s.Path)
	if len(others) == 0 {
		return nil
	}
	names := NamesOf(r)
	return lists.Map(others, func(path string) string { return names.Name(s.ID, path) })
}

// findSession returns the session with this id or file name, or the only one whose id begins with
// it, or if there is none, whose id ends with it, or whose file name begins with it. Ids are
// compared without regard to case. An id names the last file of the session, ID_PART another one.
func findSession(sessions []session.Summary, chains *session.Chains, name string) (*session.Summary, error) {
	name = strings.TrimSpace(name)
	id, from := session.CutApart(name)
	var one, whole, heads, tails, parts, files []*session.Summary
	for i := range sessions {
		s := &sessions[i]
		base := session.BaseName(s.Path)
		handle := session.Handle(s.ID, s.Path)
		switch {
		case name == "":
		case from != "" && s.ID != "" && near.IsID(s.ID, id) && chains.Apart(s.Path) == from:
			one = append(one, s)
		case strings.EqualFold(handle, name), base == name:
			whole = append(whole, s)
		case near.HasPrefixFold(handle, name):
			heads = append(heads, s)
		case near.IsID(handle, name):
			tails = append(tails, s)
		case s.Part != "" && near.IsID(PartName(s.ID, s.Part), name):
			parts = append(parts, s)
		case near.HasPrefixFold(base, name):
			files = append(files, s)
		}
	}
	var found []*session.Summary
	for n, list := range [][]*session.Summary{whole, one, heads, tails, parts, files} {
		if len(found) > 0 {
			break
		}
		if found = list; len(list) > 1 && n < 4 {
			found = slices.DeleteFunc(list, func(s *session.Summary) bool {
				return (session.BaseName(s.Path) != name || s.ID == name) && chains.Head(s.Path) != s.Path
			})
		}
	}
	if len(found) > 1 { // a version before the file was rewritten has a name of its own
		if later := slices.DeleteFunc(slices.Clone(found), func(s *session.Summary) bool { return session.IsVersion(s.Path) }); len(later) > 0 {
			found = later
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		ids := make([]string, 0, len(sessions))
		for i := range sessions {
			ids = append(ids, session.Handle(sessions[i].ID, sessions[i].Path))
		}
		return nil, &NotFoundError{What: "session", Name: name, Nearest: near.Nearest(ids, name)}
	}
	slices.SortFunc(found, func(a, b *session.Summary) int {
		return cmp.Or(b.Modified().Compare(a.Modified()), cmp.Compare(a.Path, b.Path))
	})
	return nil, &AmbiguousError{What: "session", Name: name, Sessions: found}
}

type EntryLocation struct {
	Session *session.Summary
	EntryID string
}

// FindPlace finds a session by its name, and an entry of it if entryID is not empty: of several sessions with
// one id, the one that has the entry. Otherwise, the name may also be the name of an entry that only one
// session has.
func FindPlace(r *index.Reader, name, entryID string) (*session.Summary, string, error) {
	sum, err := FindSession(r, name)
	if err == nil && entryID != "" && len(Namesakes(r, sum, name)) > 0 {
		places, err := FindEntries(r, entryID)
		has := sum
		for _, p := range places {
			if p.Session.Path == sum.Path {
				return sum, entryID, err
			}
			if p.Session.ID == sum.ID {
				has = p.Session
			}
		}
		return has, entryID, err
	}
	if _, unknown := errors.AsType[*NotFoundError](err); !unknown || entryID != "" {
		return sum, entryID, err
	}
	places, failed := FindEntries(r, name)
	switch {
	case failed != nil:
		return nil, "", failed
	case len(places) > 1:
		return nil, "", &AmbiguousError{What: "entry", Name: name, Locations: places}
	case len(places) == 1:
		return places[0].Session, places[0].EntryID, nil
	}
	return nil, "", err
}

// FindEntries returns the entries whose id begins with name, in all sessions,
// including the copies in forks. It is the fallback for a name that matches no session.
func FindEntries(r *index.Reader, name string) ([]EntryLocation, error) {
	prefix := strings.ToLower(strings.TrimSpace(name))
	if len(prefix) < minEntryID || !rank.IsID(prefix) {
		return nil, nil
	}
	summaries, heads := make(map[uint32]*session.Summary), make(map[string]*session.Summary)
	for i := range r.Summaries() {
		s := &r.Summaries()[i]
		summaries[s.File], heads[s.Path] = s, s
	}
	for file, s := range summaries {
		if s.Part == "" {
			summaries[file] = heads[r.Chains().Head(s.Path)]
		}
	}
	var places []EntryLocation
	seen := make(map[EntryLocation]bool)
	for _, seg := range r.Segments() {
		var ids []string
		seg.Terms(segment.FieldEntry, []byte(prefix), func(term []byte, _ int) bool {
			ids = append(ids, string(term))
			return len(ids) < rank.MaxIDs
		})
		files := seg.Files()
		for _, id := range ids {
			for it := seg.Bitmap(segment.FieldEntry, []byte(id)).Iterator(); it.HasNext(); {
				p := EntryLocation{summaries[files.File(it.Next())], id}
				if p.Session != nil && !seen[p] {
					seen[p] = true
					places = append(places, p)
				}
			}
		}
	}
	lists.Sort(places, func(a, b EntryLocation) int {
		return cmp.Or(a.Session.Created().Compare(b.Session.Created()), cmp.Compare(a.Session.Path, b.Session.Path), cmp.Compare(a.EntryID, b.EntryID))
	})
	return places, r.Fault()
}

// minEntryID is the shortest prefix of an entry id that FindEntries looks up.
const minEntryID = 4

// Naming names sessions as commands accept them. It reads the list of sessions when the first
// name is asked for: not every output shows names.
type Naming struct {
	chains  *session.Chains
	counted func() *counts
	sorted  func() *sorted
}

// counts has numbers that stand for names: hashes, or eight bytes.
type counts struct {
	whole        numbers // hashes of what FindSession compares as a whole, each with its file
	heads, tails numbers // the first and the last eight bytes of handles, each with the hash of its handle
}

// numbers are what names are looked up by, each with what it is of.
type numbers struct {
	all, of []uint64
	asked   atomic.Int32
	ordered func() [][2]uint64 // without those that are there twice
}

// fewNames is how many look-ups take less time than putting the numbers in order.
const fewNames = 64

func (n *numbers) add(number, of uint64) { n.all, n.of = append(n.all, number), append(n.of, of) }

// eachOwner visits what a number is of.
func (n *numbers) eachOwner(number uint64, visit func(of uint64)) {
	if n.asked.Add(1) <= fewNames {
		for i, other := range n.all {
			if other == number {
				visit(n.of[i])
			}
		}
		return
	}
	pairs := n.ordered()
	at, _ := slices.BinarySearchFunc(pairs, number, func(p [2]uint64, number uint64) int { return cmp.Compare(p[0], number) })
	for ; at < len(pairs) && pairs[at][0] == number; at++ {
		visit(pairs[at][1])
	}
}

// hasOther reports whether a number is of something else than own.
func (n *numbers) hasOther(number, own uint64) (other bool) {
	n.eachOwner(number, func(of uint64) { other = other || of != own })
	return other
}

// sorted has the different handles, and the same reversed.
type sorted struct{ heads, tails []string }

// NewNaming returns the names of these sessions. The list must stay valid.
func NewNaming(list iter.Seq2[int, *session.Summary], chains *session.Chains) *Naming {
	return &Naming{
		chains:  chains,
		counted: sync.OnceValue(func() *counts { return count(list, chains) }),
		sorted: sync.OnceValue(func() *sorted {
			s := &sorted{}
			for _, v := range list {
				s.heads = append(s.heads, strings.Clone(strings.ToLower(session.Handle(v.ID, v.Path))))
			}
			slices.Sort(s.heads)
			s.heads = slices.Compact(s.heads)
			for _, id := range s.heads {
				s.tails = append(s.tails, reversed(id))
			}
			slices.Sort(s.tails)
			return s
		}),
	}
}

func count(list iter.Seq2[int, *session.Summary], chains *session.Chains) *counts {
	c := &counts{}
	for _, n := range []*numbers{&c.whole, &c.heads, &c.tails} {
		n.ordered = sync.OnceValue(func() [][2]uint64 {
			pairs := make([][2]uint64, len(n.all))
			for i := range pairs {
				pairs[i] = [2]uint64{n.all[i], n.of[i]}
			}
			slices.SortFunc(pairs, func(a, b [2]uint64) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) })
			return slices.Compact(pairs)
		})
	}
	var low, base []byte
	for i, v := range list {
		if base = appendLower(base[:0], session.BaseName(v.Path)); session.IsVersion(v.Path) {
			c.whole.add(xxhash.Sum64(base), uint64(i))
			continue
		}
		low = appendLower(low[:0], session.Handle(v.ID, v.Path))
		hash, of := xxhash.Sum64(low), uint64(i)
		if chains.Any() {
			of = xxhash.Sum64String(chains.Head(v.Path))
		}
		c.whole.add(hash, of)
		if !bytes.Equal(base, low) {
			c.whole.add(xxhash.Sum64(base), of)
		}
		if n := len(low); n >= near.ShortID {
			c.heads.add(binary.LittleEndian.Uint64(low), hash)
			c.tails.add(binary.LittleEndian.Uint64(low[n-near.ShortID:]), hash)
		}
	}
	return c
}

// appendLower appends strings.ToLower of a text.
func appendLower(b []byte, text string) []byte {
	for i := range len(text) {
		c := text[i]
		if c >= utf8.RuneSelf {
			return append(b[:len(b)-i], strings.ToLower(text)...)
		}
		b = append(b, literal.LowerByte(c))
	}
	return b
}

// files returns how many sessions have a name as a whole. The files of one count once.
func (c *counts) files(name string) int {
	owners := make(map[uint64]bool)
	c.whole.eachOwner(xxhash.Sum64String(strings.ToLower(name)), func(of uint64) { owners[of] = true })
	return len(owners)
}

func eight(s string) uint64 { return binary.LittleEndian.Uint64([]byte(s[:near.ShortID])) }

// ShortID shortens a session id, or a session.Handle, so that FindSession still finds it: to
// its first eight characters or, if another id begins with them, as pi's ids begin with the
// time, to its last eight. If neither is unique, it keeps as much of the end as is. A copy of
// a file has the same id, and so the same short id.
func (n *Naming) ShortID(id string) string {
	if len(id) <= near.ShortID {
		return id
	}
	low := strings.ToLower(id)
	if short := n.eightOf(id, low); short != "" {
		return short
	}
	return n.uniquePart(id, low)
}

func (n *Naming) uniquePart(id, low string) string {
	ids := n.sorted()
	head := near.ShortID
	for head < len(id) && !utf8.RuneStart(id[head]) {
		head++
	}
	if near.SharedStart(ids.heads, low) < head {
		return id[:head]
	}
	from := len(id) - max(near.ShortID, near.SharedStart(ids.tails, reversed(low))+1)
	for ; from > 0; from-- {
		// A tail that begins with a dash would be a flag.
		if utf8.RuneStart(id[from]) && id[from] != '-' && near.SharedStart(ids.heads, low[from:]) < len(id)-from {
			return id[from:]
		}
	}
	return id
}

// eightOf is uniquePart if that is the first or the last eight bytes, as for almost every id,
// or else "". Sorting numbers takes less time and memory than sorting names.
func (n *Naming) eightOf(id, low string) string {
	if strings.ContainsFunc(id, func(r rune) bool { return r >= utf8.RuneSelf }) {
		return ""
	}
	c, own := n.counted(), xxhash.Sum64String(low)
	if !c.heads.hasOther(eight(low), own) {
		return id[:near.ShortID]
	}
	from := len(id) - near.ShortID
	if tail := eight(low[from:]); !c.tails.hasOther(tail, own) && !c.heads.hasOther(tail, 0) && id[from] != '-' {
		return id[from:]
	}
	return ""
}

// Name names the session of a file: by its short id, with what tells it apart if other sessions have
// the id too, or by its path if the id cannot be typed.
func (n *Naming) Name(id, path string) string {
	whole := func(name string) int { return n.counted().files(name) }
	handle := session.Handle(id, path)
	if session.IsVersion(path) {
		if handle = session.BaseName(path); whole(handle) == 1 && session.IsTypable(handle) {
			return handle
		}
		return path
	}
	if !session.IsTypable(handle) || handle == Last {
		return path
	}
	if whole(handle) > 1 {
		if from := n.chains.Apart(path); from != "" {
			return n.ShortID(id) + "." + from
		}
		return path
	}
	if name := n.ShortID(handle); name == handle || whole(name) == 0 {
		return name
	}
	return handle // the short id is the whole name of another
}

// Short is Name, but the short id where the name would be a path.
func (n *Naming) Short(id, path string) string {
	if name := n.Name(id, path); !session.IsPath(name) {
		return name
	}
	return n.ShortID(session.Handle(id, path))
}

// NamesOf returns the names of the sessions of an index.
func NamesOf(r *index.Reader) *Naming { return NewNaming(r.Beginnings(), r.Chains()) }

func eachSession(list []session.Summary) iter.Seq2[int, *session.Summary] {
	return func(yield func(int, *session.Summary) bool) {
		for i := range list {
			if !yield(i, &list[i]) {
				return
			}
		}
	}
}

func reversed(s string) string {
	b := []byte(s)
	slices.Reverse(b)
	return string(b)
}

// FindEntry returns the index of the entry of a session with this id, or of the only one
// whose id begins with it or, if there is none, ends with it. It accepts the ids that entry.Naming has
// shortened. @ and a number is the entry at that offset; a number alone is too, if the entry has no id
// and no other id begins with it.
func FindEntry(rec *session.Record, t *session.Tree, name string) (int, error) {
	name = strings.TrimSpace(name)
	typed := func(id string) string { // to choose from several
		if i := t.Find(id); rec.Inherited > 0 && t.Find(session.AgainID(id, 2)) >= 0 {
			return EntryName("", rec.Nodes[i].Offset)
		}
		return entry.ShortIDs(rec)(id)
	}
	if i := t.Find(name); i >= 0 {
		// An offset is one of the session's own file, which hits name like that.
		if again := session.AgainID(name, 2); rec.Inherited > 0 && t.Find(again) >= 0 && name[0] != '@' {
			return -1, &AmbiguousError{What: "entry", Name: name, Entries: []string{typed(name), typed(again)}}
		}
		return i, nil
	}
	if digits, ok := strings.CutPrefix(name, "@"); ok {
		if offset, err := strconv.ParseInt(digits, 10, 64); err == nil {
			if i := rec.NodeAt(offset); i >= 0 {
				return i, nil
			}
		}
	}
	var ids []string
	for i := range rec.Nodes {
		if !t.Superseded(i) {
			ids = append(ids, rec.Nodes[i].ID)
		}
	}
	base, again := entry.CutAgain(name)
	var found []string
	for _, is := range []func(id, name string) bool{strings.HasPrefix, near.HasPrefixFold, near.IsID} {
		found = slices.DeleteFunc(slices.Clone(ids), func(id string) bool {
			whole, number := entry.CutAgain(id)
			return name == "" || !is(id, name) && (again == "" || number != again || !is(whole, base))
		})
		if len(found) > 0 {
			break
		}
	}
	if len(found) > 1 && rec.Inherited == 0 && again == "" {
		found = slices.DeleteFunc(found, func(id string) bool {
			whole, number := entry.CutAgain(id)
			return number != "" && t.Find(whole) >= 0
		})
	}
	switch len(found) {
	case 1:
		return t.Find(found[0]), nil
	case 0:
		if i := t.Find("@" + name); i >= 0 {
			return i, nil
		}
		return -1, &NotFoundError{What: "entry", Name: name, Nearest: lists.Map(near.Nearest(ids, name), typed)}
	}
	return -1, &AmbiguousError{What: "entry", Name: name, Entries: lists.Map(found, typed)}
}
