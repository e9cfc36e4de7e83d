package blame

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"pigrep/internal/diff"
	"pigrep/internal/lists"
	"pigrep/internal/session"
	"pigrep/internal/shellcmd"
)

// A change is what one call did to one file.
type change struct {
	by   *origin
	path string

	name     string                 // the path as the call has it; "" for an effect of a shell command
	file     *diff.File             // what the call says it changed, by lines; nil until it is needed
	edits    []session.Edit         // the same as strings; may be empty
	effect   *shellcmd.Effect       // of a shell command
	mentions []string               // lines of a command that names the file and does more than is known
	recorded func() []diff.File     // what the tool recorded of the change; nil if it recorded nothing
	printed  func() map[string]bool // the lines that the session had seen before, by their keys
}

// A line is one of a file, and what wrote it. White space alone makes no new line, as in
// git blame -w.
type line struct {
	text   string
	key    string  // the text without white space
	by     *origin // nil if nothing that is known
	first  bool    // it was in the first text that is known of the file
	spaced bool    // its white space was changed since
}

func newLine(text string, by *origin) line { return line{text: text, key: squeezed(text), by: by} }

// A history is what is known of one file after some changes. Until its whole text is known, it
// consists of blocks of lines in the order that they became known.
type history struct {
	path   string
	blocks [][]line
	known  bool
	gone   []line          // that were there before it was deleted or moved away: it may be there again
	once   map[string]line // what was there once, by the key of the line, as it was written last
}

// replay makes the changes in the order of time, as the tools did.
type replay struct {
	files map[string]*history
	same  func(path string) bool // the path names the file that was asked for, in some checkout
	last  *history               // the one of these files that was changed last
	swaps []*change              // of strings, in a file that was not known
}

func (r *replay) at(path string) *history {
	h := r.files[path]
	if h == nil {
		h = &history{path: path, once: make(map[string]line)}
		r.files[path] = h
	}
	return h
}

func (r *replay) apply(c *change) {
	if c.effect != nil && c.effect.From != "" {
		r.move(c.effect.From, c.path)
		return
	}
	h := r.at(c.path)
	for _, text := range c.mentions {
		l := newLine(text, c.by)
		h.note(&l)
	}
	if r.same(h.path) {
		defer func() { r.last = h }()
	}
	switch e := c.effect; {
	case e != nil && e.Append:
		h.add(c.by, splitLines(e.Text))
	case e != nil && len(e.Swaps) > 0:
		r.adopt(h)
		if !h.known {
			r.swaps = append(r.swaps, c)
		}
		h.swapAll(c.by, e.Swaps)
	case e != nil && e.Text != "":
		r.write(h, c, splitLines(e.Text))
	case c.file != nil && c.file.Deleted:
		h.gone, h.blocks = h.lines(), nil
	case c.isWhole():
		r.write(h, c, c.lines())
	case c.file != nil || len(c.edits) > 0:
		r.adopt(h)
		h.edit(c)
	}
}

// adopt gives a file without a known text the lines that it had before it went, or that the same
// file has in another checkout.
func (r *replay) adopt(h *history) {
	switch {
	case len(h.blocks) > 0:
	case len(h.gone) > 0:
		h.blocks = [][]line{h.gone}
	case r.last != nil && r.same(h.path):
		h.blocks = [][]line{r.last.lines()}
	}
}

// move renames a file, or all below a directory. It is still known what was at the old path.
func (r *replay) move(from, to string) {
	files := maps.Clone(r.files)
	for _, path := range slices.Sorted(maps.Keys(files)) {
		h := files[path]
		rest, ok := strings.CutPrefix(path, from)
		if !ok || rest != "" && rest[0] != '/' || len(h.blocks) == 0 && len(h.gone) > 0 {
			continue
		}
		moved := *h
		moved.path = to + rest
		r.files[moved.path] = &moved
		r.files[path] = &history{path: path, gone: h.lines(), once: maps.Clone(h.once)}
	}
}

func splitLines(text string) []string {
	text = strings.TrimSuffix(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

// isWhole reports whether the call wrote the whole file.
func (c *change) isWhole() bool {
	return c.file != nil && c.file.Whole || len(c.edits) > 0 && c.edits[0].Whole
}

// hunks returns what the call says it changed, by lines.
func (c *change) hunks() []diff.Hunk {
	if c.file == nil {
		c.file = &diff.Of(&session.Call{Edits: c.edits})[0]
	}
	return c.file.Hunks
}

// lines returns the lines that the change added.
func (c *change) lines() (list []string) {
	switch {
	case c.effect != nil:
		return splitLines(c.effect.Text)
	case c.file == nil && c.isWhole():
		return splitLines(string(c.edits[0].New))
	case c.file == nil && len(c.edits) == 0:
		return c.mentions
	}
	for _, h := range c.hunks() {
		for _, l := range h.Lines {
			if l.Kind == diff.Added {
				list = append(list, l.Text)
			}
		}
	}
	return list
}

// lines returns all lines that are known, in the order of the blocks; those that the file had last if
// it is gone.
func (h *history) lines() []line {
	if len(h.blocks) == 0 {
		return h.gone
	}
	return slices.Concat(h.blocks...)
}

func joined(list []line) string {
	var b strings.Builder
	for i := range list {
		b.WriteString(list[i].text)
		b.WriteByte('\n')
	}
	return b.String()
}

func keys(list []line) []string { return lists.Map(list, func(l line) string { return l.key }) }

// texts returns the lines of a hunk, except for one kind.
func texts(h diff.Hunk, but diff.Kind) (list []string) {
	for _, l := range h.Lines {
		if l.Kind != but {
			list = append(list, l.Text)
		}
	}
	return list
}

// renew returns new lines: those that are among the old ones keep what wrote them.
func (h *history) renew(old []line, now []string, by *origin) []line {
	from, to := 0, 0 // that are the same at the beginning, and at the end
	for from < min(len(old), len(now)) && old[from].text == now[from] {
		from++
	}
	for to < min(len(old), len(now))-from && old[len(old)-1-to].text == now[len(now)-1-to] {
		to++
	}
	list := make([]line, len(now))
	copy(list, old[:from])
	copy(list[len(now)-to:], old[len(old)-to:])
	old, now = old[from:len(old)-to], now[from:len(now)-to]
	between := list[from : from+len(now)]
	for i := range now {
		between[i] = newLine(now[i], by)
	}
	for i, at := range diff.Match(keys(old), keys(between)) {
		if at < 0 {
			h.note(&between[i])
			continue
		}
		between[i] = old[at]
		if old[at].text != now[i] {
			between[i].text, between[i].spaced = now[i], true
		}
	}
	return list
}

// note keeps what wrote a line.
func (h *history) note(l *line) {
	if l.by != nil && tells(l.text) {
		h.once[l.key] = line{text: l.text, key: l.key, by: l.by}
	}
}

// write replaces the whole text of the file.
func (r *replay) write(h *history, c *change, now []string) {
	old := h.lines()
	list := h.renew(old, now, c.by)
	r.inherit(h, c, list)
	if !h.known {
		h.complete(c, old, list)
	}
	h.leave(c, list)
	h.blocks, h.known = [][]line{list}, true
}

// The least share of the lines of a text that must be in another file for the text to be from
// there: in the same file of another checkout, or in any file.
const (
	enoughSame  = 0.2
	enoughOther = 0.5
)

// inherit finds lines of a new text that another file had before: git brought them here, or the file
// was renamed or copied.
func (r *replay) inherit(h *history, c *change, list []line) {
	all := keys(list)
	unique := telling(nil, all)
	type source struct {
		*history
		share float64
	}
	var from []source
	for _, other := range r.files {
		if isSame := r.same(h.path) && r.same(other.path); other == h || h.known && !isSame {
			continue
		} else if n, of := other.shared(all, unique); n >= enoughShared {
			if share := float64(n) / float64(of); isSame && share >= enoughSame || share >= enoughOther {
				from = append(from, source{other, share})
			}
		}
	}
	lists.Sort(from, func(a, b source) int { return cmp.Or(cmp.Compare(b.share, a.share), cmp.Compare(a.path, b.path)) })
	for _, f := range from {
		now, there := make(map[string]*origin), f.lines()
		for _, l := range there {
			if l.by != nil {
				now[l.key] = l.by
			}
		}
		for i, at := range diff.Match(keys(there), all) {
			if at >= 0 && list[i].by == c.by && there[at].by != nil {
				list[i].by, list[i].spaced = there[at].by, there[at].spaced || there[at].text != list[i].text
				h.note(&list[i])
			}
		}
		for i := range list {
			l := &list[i]
			if l.by != c.by || !unique[i] {
				continue
			}
			if by := cmp.Or(now[l.key], f.once[l.key].by); by != nil {
				own := f.once[l.key]
				l.by, l.spaced = by, own.by != by || own.text != l.text
				h.note(l)
			}
		}
	}
}

// shared returns how many of the telling lines a file has, or had, and how many telling lines there are.
func (h *history) shared(keys []string, telling []bool) (n, all int) {
	for i, k := range keys {
		if telling[i] {
			all++
			if _, ok := h.once[k]; ok {
				n++
			}
		}
	}
	return n, all
}

// complete is for the first whole text of a file. The blocks that were known before may have been
// in another order, and what the tool recorded says which lines were there before.
func (h *history) complete(c *change, old, list []line) {
	byText, unique := make(map[string]*origin), telling(nil, keys(list))
	for _, l := range old {
		if l.by != nil {
			byText[l.key] = l.by
		}
	}
	isNew := make(map[int]bool)
	recorded := c.recordedHunks()
	for _, hunk := range recorded {
		for _, l := range hunk.Lines {
			isNew[l.New] = isNew[l.New] || l.Kind == diff.Added
		}
	}
	for i := range list {
		l := &list[i]
		if l.by != c.by {
			continue
		}
		l.first = true
		switch by := byText[l.key]; {
		case by != nil && unique[i]:
			l.by = by
		case len(recorded) > 0 && !isNew[i+1]:
			l.by = nil
		}
		if l.by != c.by && h.once[l.key].by == c.by {
			delete(h.once, l.key)
			h.note(l)
		}
	}
}

// leave takes lines from a write that its session had seen before: they were in the file.
func (h *history) leave(c *change, list []line) {
	own := func(l line) bool { return l.by == c.by && tells(l.text) }
	if !slices.ContainsFunc(list, own) {
		return
	}
	seen := c.printed()
	for i := range list {
		if l := &list[i]; own(*l) && seen[l.key] {
			l.by = nil
			delete(h.once, l.key)
		}
	}
}

func (c *change) recordedHunks() []diff.Hunk {
	if c.recorded == nil {
		return nil
	}
	for _, f := range c.recorded() {
		if !f.Whole && (f.Path == "" || f.Path == c.name) {
			return f.Hunks
		}
	}
	return nil
}

// add appends lines to the file.
func (h *history) add(by *origin, now []string) {
	list := h.renew(nil, now, by)
	if h.known && len(h.blocks) > 0 {
		h.blocks[0] = slices.Concat(h.blocks[0], list)
	} else {
		h.blocks = append(h.blocks, list)
	}
}

// swapAll replaces strings in each line.
func (h *history) swapAll(by *origin, swaps []shellcmd.Swap) {
	for i, block := range h.blocks {
		h.blocks[i] = h.renew(block, lists.Map(block, func(l line) string { return swapped(l.text, swaps) }), by)
	}
}

// swapped returns a line with strings replaced.
func swapped(text string, swaps []shellcmd.Swap) string {
	for _, s := range swaps {
		n := 1
		if s.All {
			n = -1
		}
		text = strings.Replace(text, s.Old, s.New, n)
	}
	return text
}

// edit changes a part of the file.
func (h *history) edit(c *change) {
	missed := false
	for i := range c.edits {
		missed = !h.swap(c.by, &c.edits[i]) || missed
	}
	if len(c.edits) > 0 && !missed {
		return
	}
	hunks := c.hunks()
	if len(c.edits) > 0 { // whose lines may be pieces of lines
		if recorded := c.recordedHunks(); len(recorded) > 0 {
			hunks = recorded
		}
	}
	for _, hunk := range hunks {
		if len(c.edits) == 0 || !h.hasHunk(hunk) {
			h.patch(c.by, hunk)
		}
	}
}

// hasHunk reports whether the file is as a hunk has made it.
func (h *history) hasHunk(hunk diff.Hunk) bool {
	now := texts(hunk, diff.Removed)
	return slices.ContainsFunc(h.blocks, func(block []line) bool { return indexOf(block, now) >= 0 })
}

// swap replaces a string by another one. It reports false if the string is not known to be in the
// file.
func (h *history) swap(by *origin, e *session.Edit) bool {
	before, after := strings.ReplaceAll(string(e.Old), "\r\n", "\n"), strings.ReplaceAll(string(e.New), "\r\n", "\n")
	if before == "" {
		return false
	}
	found := false
	for i := len(h.blocks) - 1; i >= 0 && (!found || e.All); i-- {
		text := joined(h.blocks[i])
		for end := len(text); ; {
			at := strings.Index(text[:end], before)
			if e.All {
				at = strings.LastIndex(text[:end], before)
			}
			if at < 0 {
				break
			}
			h.blocks[i] = h.splice(h.blocks[i], text, at, at+len(before), after, by)
			if found, end = true, at; !e.All {
				break
			}
		}
	}
	return found
}

// splice replaces the bytes from one offset to another of the text of a block.
func (h *history) splice(block []line, text string, from, to int, with string, by *origin) []line {
	first := strings.Count(text[:from], "\n")
	last := min(first+strings.Count(text[from:to], "\n"), len(block)-1)
	begin := strings.LastIndexByte(text[:from], '\n') + 1
	end := len(text) - 1
	if to < end {
		end = to + strings.IndexByte(text[to:], '\n')
	} else if to > end {
		with = strings.TrimSuffix(with, "\n")
	}
	whole := text[begin:from] + with + text[min(to, end):end]
	now := strings.Split(whole, "\n")
	if whole == "" && to > end {
		now = nil
	}
	return slices.Concat(block[:first], h.renew(block[first:last+1], now, by), block[last+1:])
}

// patch applies a hunk. If the lines that it changes are not known, they are a block of their
// own.
func (h *history) patch(by *origin, hunk diff.Hunk) {
	before := texts(hunk, diff.Added)
	at, in := -1, -1
	for i := len(h.blocks) - 1; i >= 0 && at < 0 && len(before) > 0; i-- {
		at, in = indexOf(h.blocks[i], before), i
	}
	var old []line
	if at >= 0 {
		old = h.blocks[in][at : at+len(before)]
	}
	var list []line
	for _, l := range hunk.Lines {
		switch {
		case l.Kind == diff.Added:
			list = append(list, newLine(l.Text, by))
			h.note(&list[len(list)-1])
		case l.Kind == diff.Same && old != nil:
			list = append(list, old[0])
		case l.Kind == diff.Same:
			list = append(list, newLine(l.Text, nil))
		}
		if l.Kind != diff.Added && old != nil {
			old = old[1:]
		}
	}
	if at >= 0 {
		h.blocks[in] = slices.Concat(h.blocks[in][:at], list, h.blocks[in][at+len(before):])
	} else if len(list) > 0 {
		h.blocks = append(h.blocks, list)
	}
}

// indexOf returns where some lines are in a block, white space aside; -1 if they are not.
func indexOf(block []line, lines []string) int {
	wanted := make([]string, len(lines))
	for i, l := range lines {
		wanted[i] = squeezed(l)
	}
	for i := 0; i+len(lines) <= len(block); i++ {
		k := 0
		for k < len(lines) && block[i+k].key == wanted[k] {
			k++
		}
		if k == len(lines) {
			return i
		}
	}
	return -1
}
