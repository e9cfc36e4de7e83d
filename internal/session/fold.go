package session

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/cespare/xxhash/v2"
)

// Add folds the next entry of the file, in file order, into the record: its
// node, and the facts that later lines can change. It does not retain the
// entry's memory. It sets Repeats of an entry that turns out to repeat another, leaves in
// Shadows only those that are hidden by it, and adds what its context says to the entry.
func (r *Record) Add(e *Entry) {
	number := r.Len()
	again := false
	if e.Once || e.Again {
		if at := r.numberOf(e.ID); at >= 0 {
			again = e.Once || r.isLike(at, e)
			e.Repeats = e.Repeats || e.Once
		}
	}
	if e.Once && e.ParentID != "" && (e.BehindTorn || r.Skipped > 0) && r.numberOf(e.ParentID) < 0 {
		e.ParentID = r.lastID(e.ParentID) // its parent was lost
	}
	e.Complete()
	if e.Type == TypeSessionInfo && e.Step == Talk && !r.Notes && e.Name != "" && e.Name == r.Name {
		e.Step = StepSetting // its agent repeats the name
	}
	r.addContext(number, &e.Context)
	r.Entries++
	r.Nodes = append(r.Nodes, r.node(e))
	if r.Numbers != nil {
		r.note(len(r.Nodes) - 1)
	}
	if e.Repeats {
		r.Hidden = r.Hidden.with(number)
		return
	}
	if len(e.Shadows) > 0 {
		e.Shadows = r.hide(e.Shadows)
	}
	if e.Pending {
		if len(r.Pending) >= MaxPending && !r.Notes {
			r.Pending = r.Pending[1:]
		}
		p := Pending{Offset: e.Offset}
		if r.Notes {
			p.About, p.Name = strings.Clone(e.About), strings.Clone(strings.TrimSpace(e.Name))
		}
		r.Pending = append(r.Pending, p)
	}
	r.resolve(e.ID)
	r.begin(e)
	for _, name := range e.Strange {
		r.addStrange(name)
	}
	if !e.Timestamp.IsZero() {
		if r.Oldest.IsZero() || e.Timestamp.Before(r.Oldest) {
			r.Oldest = e.Timestamp
		}
		if e.Timestamp.After(r.Newest) {
			r.Newest = e.Timestamp
		}
	}
	switch e.Type {
	case TypeMessage:
		if !again && e.Step.counts(e.Message == "") && (e.Message == "" || e.Message != r.Piece) {
			r.Messages++
		}
		r.addMessage(e)
	case TypeSessionInfo:
		r.addName(e)
	case TypeLabel:
		r.addLabel(e)
	}
	if e.Message != "" && e.Message != r.Piece && e.Step == Talk {
		r.Piece = strings.Clone(e.Message)
	}
}

// begin notes how the conversation begins, until its first message has.
func (r *Record) begin(e *Entry) {
	if r.Begins != 0 || e.Apart {
		return
	}
	if r.Follows == "" && e.ParentID != "" && r.numberOf(e.ParentID) < 0 {
		r.Follows = strings.Clone(e.ParentID)
	}
	if e.Type != TypeMessage || len(e.Parts) == 0 {
		return
	}
	h := xxhash.New()
	fmt.Fprintf(h, "%s %d", e.Role, e.Timestamp.UnixMilli())
	for i := range e.Parts {
		_, _ = h.Write(e.Parts[i].Text)
		_, _ = h.Write(e.Parts[i].JSON)
	}
	r.Begins = max(1, h.Sum64())
}

// Overwrite takes over what the Volatile lines of the file say now: with has read nothing else.
// It reports whether the rest of the record stays true.
func (r *Record) Overwrite(with *Record) bool {
	nodes := r.all()
	last := sort.Search(len(nodes), func(i int) bool { return nodes[i].Offset >= r.Volatile.Length }) - 1
	if last < 0 || !slices.Equal(nodes[:last+1], with.Nodes) || with.Lines != nodes[last].Line || with.Skipped > 0 || with.Version != 0 ||
		slices.ContainsFunc(r.Problems, func(p Problem) bool { return p.Offset < r.Volatile.Length }) {
		return false
	}
	pending := slices.Clone(r.Pending)
	for i := range nodes[:last+1] {
		at := PendingAt(pending, nodes[i].Offset)
		if at < 0 || pending[at].Documents > 0 && with.Name == "" { // a name elsewhere may count now
			return false
		}
		r.Documents, r.Tokens = r.Documents-pending[at].Documents, r.Tokens-pending[at].Tokens
	}
	r.Pending, r.Volatile = pending, with.Volatile
	if with.Name != "" {
		r.Name, r.NameRank = with.Name, with.NameRank
	}
	return true
}

// Complete gives an assistant message without a model the model of its context.
func (e *Entry) Complete() {
	if e.Role == RoleAssistant && e.Model == "" {
		e.Provider, e.Model = cmp.Or(e.Provider, e.Context.Provider), e.Context.Model
	}
}

func (r *Record) addContext(number int, c *Context) {
	var last Context
	if n := len(r.Contexts); n > 0 {
		last = r.Contexts[n-1].Context
	}
	if *c != last {
		r.Contexts = append(r.Contexts, ContextsFrom{number, Context{
			Provider: strings.Clone(c.Provider), Model: strings.Clone(c.Model), CWD: strings.Clone(c.CWD), Git: strings.Clone(c.Git),
		}})
	}
}

// numberOf returns the number of the first entry with this id, or -1.
func (r *Record) numberOf(id string) int {
	if r.left() > 0 && r.Known.Mentions(id) {
		if i := slices.IndexFunc(r.Known.Earlier(), func(n Node) bool { return n.ID == id }); i >= 0 {
			return i
		}
	}
	if r.Numbers == nil {
		r.Numbers = make(map[string]int, len(r.Nodes))
		for i := range r.Nodes {
			r.note(i)
		}
	}
	if i, ok := r.Numbers[id]; ok {
		return r.left() + i
	}
	return -1
}

// lastID returns the id of the last entry that may be on a branch; other if there is none.
func (r *Record) lastID(other string) string {
	lists := [][]Node{nil, r.Nodes}
	if r.left() > 0 {
		lists[0] = r.Known.Earlier()
	}
	for _, list := range slices.Backward(lists) {
		for i := range slices.Backward(list) {
			if n := &list[i]; !n.Apart && !n.Aside && !n.Beside {
				return n.ID
			}
		}
	}
	return other
}

// addStrange counts a name that no adapter knows.
func (r *Record) addStrange(name string) {
	at, ok := slices.BinarySearchFunc(r.Strange, name, func(s Strange, name string) int { return strings.Compare(s.Name, name) })
	switch {
	case ok:
		r.Strange = slices.Clone(r.Strange)
		r.Strange[at].Count++
	case len(r.Strange) < MaxStrange:
		r.Strange = slices.Insert(slices.Clip(r.Strange), at, Strange{strings.Clone(name), 1})
	}
}

// isLike reports whether entry i looks like another entry, as far as its node tells. The two then count once,
// and both are found.
func (r *Record) isLike(i int, e *Entry) bool {
	var n Node
	if i < r.left() {
		n = r.Known.Earlier()[i]
	} else {
		n = r.Nodes[i-r.left()]
	}
	return n.ParentID == e.ParentID && n.Type == e.Type && n.Role == e.Role && n.Length == e.Length && !e.Timestamp.IsZero() && n.Time == e.Timestamp.UnixMilli()
}

func (r *Record) note(i int) {
	if _, ok := r.Numbers[r.Nodes[i].ID]; !ok {
		r.Numbers[r.Nodes[i].ID] = i
	}
}

// hide hides the pending entries at these offsets, whose text a later one has. It returns
// the offsets of those that it has hidden.
func (r *Record) hide(offsets []int64) (hidden []int64) {
	for _, offset := range offsets {
		at := PendingAt(r.Pending, offset)
		if at < 0 {
			continue
		}
		number, nodes := r.left(), r.Nodes
		i := r.NodeAt(offset)
		if i < 0 && r.left() > 0 {
			number, nodes = 0, r.Known.Earlier()
			i = slices.IndexFunc(nodes, func(n Node) bool { return n.Offset == offset })
		}
		if i < 0 {
			continue
		}
		hidden = append(hidden, offset)
		r.Hidden = r.Hidden.with(number + i)
		if r.Known != nil && !nodes[i].Apart && number+i < r.Known.Entries {
			r.Known.Moved = true
		}
		if nodes[i].Type == TypeMessage && nodes[i].Step.counts(nodes[i].Message == "") {
			r.Messages--
		}
		r.Documents -= r.Pending[at].Documents
		r.Tokens -= r.Pending[at].Tokens
		if at == 0 { // without a copy: there may be many
			r.Pending = r.Pending[1:]
		} else {
			r.Pending = slices.Delete(r.Pending, at, at+1)
		}
	}
	return hidden
}

// addName adds the name that a session_info entry gives the session, or another one.
func (r *Record) addName(e *Entry) {
	name := Naming{e.TargetID, strings.TrimSpace(e.Name), e.NameRank}
	switch {
	case r.Notes: // they name other sessions
	case e.TargetID == "" || r.numberOf(e.TargetID) >= 0:
		r.rename(name)
	default:
		if len(r.Awaited) == MaxAwaited {
			r.Awaited = r.Awaited[1:]
		}
		r.Awaited = append(slices.Clip(r.Awaited), Naming{strings.Clone(name.Target), strings.Clone(name.Name), name.Rank})
	}
}

// resolve gives the session the names that waited for the entry with this id.
func (r *Record) resolve(id string) {
	for {
		i := slices.IndexFunc(r.Awaited, func(n Naming) bool { return n.Target == id })
		if i < 0 {
			return
		}
		r.rename(r.Awaited[i])
		r.Awaited = slices.Concat(r.Awaited[:i], r.Awaited[i+1:])
	}
}

func (r *Record) rename(n Naming) {
	switch {
	case n.Rank < r.NameRank:
	case n.Name == "":
		r.Name, r.NameRank = "", 0
	default:
		r.Name, r.NameRank = strings.Clone(n.Name), n.Rank
	}
}

// AddTool keeps the tool of the last entry, a result that does not name it itself. Call it
// after Entry.Answer.
func (r *Record) AddTool(tool string) { r.Nodes[len(r.Nodes)-1].Tool = strings.Clone(tool) }

// Answer names the tool of the call that the entry is the result of, unless it names one.
func (e *Entry) Answer(tool string) {
	if e.Role != RoleToolResult || e.Tool != "" || tool == "" {
		return
	}
	e.Tool = tool
	for i := range e.Parts {
		e.Parts[i].Tool = cmp.Or(e.Parts[i].Tool, tool)
	}
}

// AddUsage adds the usages of an entry. Call it after Add.
func (r *Record) AddUsage(changes []UsageChange) {
	for i := range changes {
		r.addUsage(&changes[i])
	}
}

func (r *Record) addUsage(c *UsageChange) {
	r.UsedTokens += c.After.Tokens() - c.Before.Tokens()
	r.UsedCost += c.After.Cost - c.Before.Cost
	r.Delegated = r.Delegated || c.Source == RoleToolResult
	if c.Before.Unpriced() {
		r.addUnpriced(c.Model, &c.Before, -1)
	}
	if c.After.Unpriced() {
		r.addUnpriced(c.Model, &c.After, 1)
	}
}

func (r *Record) addUnpriced(model string, u *Usage, sign int64) {
	r.Unpriced = slices.Clone(r.Unpriced) // readers may have it
	i := slices.IndexFunc(r.Unpriced, func(m ModelUsage) bool { return m.hasPriceOf(model, u) })
	if i < 0 {
		i = len(r.Unpriced)
		r.Unpriced = append(r.Unpriced, ModelUsage{Model: strings.Clone(model), Usage: Usage{NoCost: u.NoCost, Faster: u.Faster}})
	}
	if r.Unpriced[i].add(u, sign); r.Unpriced[i].Uses == 0 {
		r.Unpriced = slices.Delete(r.Unpriced, i, i+1)
	}
}

func (r *Record) addLabel(e *Entry) {
	if e.Label == "" {
		delete(r.Labels, e.TargetID)
	} else {
		if r.Labels == nil {
			r.Labels = make(map[string]string)
		}
		r.Labels[strings.Clone(e.TargetID)] = strings.Clone(e.Label)
	}
	switch n := len(r.Labels); {
	case n == 0:
		r.LabelNames = nil
	case n <= MaxLabelled:
		r.LabelNames = slices.Compact(slices.Sorted(maps.Values(r.Labels)))
	}
}

func (r *Record) addMessage(e *Entry) {
	if e.Role == RoleShell && len(r.Models) == 0 && r.FirstPrompt == "" && strings.HasPrefix(r.Subject, "/") {
		r.Subject, _, _ = strings.Cut(r.Subject, " ") // the agent answered the command itself
	}
	if e.Role != RoleUser && e.Role != RoleAssistant {
		return
	}
	if e.Side == "" {
		at := e.MessageTime
		if at.IsZero() {
			at = e.Timestamp
		}
		if at.After(r.LastMessage) {
			r.LastMessage = at
		}
		if e.Role == RoleUser {
			r.addPrompt(e)
		}
	}
	if e.Role == RoleAssistant && e.Model != "" {
		model := FullModel(e.Provider, e.Model)
		if !slices.Contains(r.Models, model) {
			r.Models = append(r.Models, strings.Clone(model))
		}
	}
}

// addPrompt sets the first prompt, and the subject until a prompt says what it is.
func (r *Record) addPrompt(e *Entry) {
	text := e.UserText
	if r.Queued && !e.Pending && text != "" { // it is the first of the conversation
		r.FirstPrompt, r.Subject = "", ""
	}
	before := cmp.Or(r.Subject, r.FirstPrompt)
	if r.FirstPrompt == "" {
		r.FirstPrompt = shorten(text, MaxFirstPrompt)
		r.Queued = e.Pending && text != ""
	}
	if !saysLittle(before) {
		return
	}
	if subject := Subject(cmp.Or(text, e.Command)); before == "" || !saysLittle(subject) {
		r.Subject = subject
	}
	if r.Subject == joined(r.FirstPrompt) {
		r.Subject = "" // as of most
	}
}

func (r *Record) node(e *Entry) Node {
	n := Node{
		ID:        strings.Clone(e.ID),
		ParentID:  strings.Clone(e.ParentID),
		HasParent: e.HasParent,
		Type:      intern(e.Type),
		Role:      intern(e.Role),
		TargetID:  strings.Clone(e.TargetID),
		FirstKept: strings.Clone(e.FirstKeptID),
		Message:   strings.Clone(e.Message),
		Aside:     e.Aside,
		Apart:     e.Apart,
		Beside:    e.Side != "",
		Step:      e.Step,
		Offset:    e.Offset,
		Length:    e.Length,
		Line:      e.Line,
	}
	if !e.Timestamp.IsZero() {
		n.Time = e.Timestamp.UnixMilli()
	}
	if e.Type == TypeCompaction && e.FirstKeptID == "" && e.FirstKeptIndex > 0 {
		// Version 1 counts parsed lines; the header is number 0. Current pi
		// treats 0 as if no entry was kept.
		if i := e.FirstKeptIndex - 1; i < r.Len() {
			n.FirstKept = r.all()[i].ID
		}
	}
	return n
}

// AddProblem counts a skipped piece of the file and keeps the first MaxProblems of
// them.
func (r *Record) AddProblem(p Problem) {
	r.Skipped++
	if len(r.Problems) < MaxProblems {
		r.Problems = append(r.Problems, p)
	}
}

// Clone returns a copy that Add and AddProblem on r do not change.
func (r *Record) Clone() *Record {
	c := *r
	c.Nodes, c.Models, c.LabelNames, c.Problems = slices.Clone(r.Nodes), slices.Clone(r.Models), slices.Clone(r.LabelNames), slices.Clone(r.Problems)
	c.Blocks, c.Partial, c.Hidden, c.Pending = slices.Clone(r.Blocks), slices.Clone(r.Partial), slices.Clone(r.Hidden), slices.Clone(r.Pending)
	c.Contexts, c.Awaited, c.Numbers = slices.Clip(r.Contexts), slices.Clip(r.Awaited), nil
	c.Facts, c.Labels = r.Facts.Clone(), maps.Clone(r.Labels)
	return &c
}

// Created is when the session began: the timestamp of the header, or else of the
// oldest entry, or else of the file.
func (s *Summary) Created() time.Time {
	switch {
	case !s.Header.Timestamp.IsZero():
		return s.Header.Timestamp
	case !s.Oldest.IsZero():
		return s.Oldest
	}
	return s.fileTime()
}

// IsUndated reports whether Created and Modified are the time of the file, because no entry has one.
func (s *Summary) IsUndated() bool {
	return s.Header.Timestamp.IsZero() && s.Oldest.IsZero() && s.LastMessage.IsZero()
}

// Modified is the time of the latest user or assistant message,
// or else Created.
func (s *Summary) Modified() time.Time {
	if !s.LastMessage.IsZero() {
		return s.LastMessage
	}
	return s.Created()
}

// TimeOf returns the node's time, or the file's for a node without one.
func (s *Summary) TimeOf(n *Node) time.Time {
	if n.Time != 0 {
		return time.UnixMilli(n.Time).UTC()
	}
	return s.fileTime()
}

// Times returns a range with the times of all entries. An entry without a time has the time of the file.
func (s *Summary) Times() (first, last time.Time) {
	first, last = s.Oldest, s.Newest
	mtime := s.fileTime()
	if s.Mtime == 0 && !first.IsZero() { // it is not known
		return first, last
	}
	if first.IsZero() || mtime.Before(first) {
		first = mtime
	}
	if mtime.After(last) {
		last = mtime
	}
	return first, last
}

func (s *Summary) fileTime() time.Time { return time.Unix(0, s.Mtime).UTC() }

// shorten returns a copy of s without the space around it, cut to at most limit bytes.
func shorten(s string, limit int) string { return strings.Clone(Cut(strings.TrimSpace(s), limit)) }

// Cut returns at most the first n bytes of a text, fewer to end between characters.
func Cut[T string | []byte](text T, n int) T {
	if len(text) <= n {
		return text
	}
	n = max(n, 0)
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

// Beginning is Cut of a text without the space around it, with … in the place of what it cuts off.
func Beginning(s string, n int) string {
	s = strings.TrimSpace(s)
	if len(s) <= n {
		return s
	}
	return Cut(s, n) + "…"
}

// intern returns a shared copy of the types and roles that most entries have.
func intern(s string) string {
	for _, shared := range [...]string{TypeMessage, RoleUser, RoleAssistant, RoleToolResult} {
		if s == shared {
			return shared
		}
	}
	return strings.Clone(s)
}
