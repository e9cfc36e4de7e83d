package blame

import (
	"cmp"
	"math/bits"
	"path"
	"slices"
	"strings"

	"pigrep/internal/diff"
	"pigrep/internal/session"
	"pigrep/query/engine/filter"
)

// found is what is known of a line of the file.
type found struct {
	by   *origin // nil if no session is known to have written it
	how  string
	near float64 // if it is only alike

	first    bool // it was in the first text that is known of a file
	filtered bool // by a session that does not pass the filters
}

// attribution finds the origins of the lines of a file.
type attribution struct {
	*collector
	req   *Request
	file  *filter.Directory // its path, to compare with others
	lines []string
	found []found
	named map[string]bool // names of files whose calls were read
	same  []*history      // of the file, in all checkouts and under all names; the nearest first
	swaps []*change       // in files that were not known

	keys []string // of the lines, as of squeezed
	tell []bool   // the line alone can tell where it is from: it is long enough, and no other line is the same
}

func newAttribution(c *collector, req *Request) *attribution {
	x := &attribution{collector: c, req: req, file: filter.NewDirectory(req.Path), lines: req.Lines, found: make([]found, len(req.Lines)), named: make(map[string]bool), keys: make([]string, len(req.Lines))}
	for i, l := range req.Lines {
		x.keys[i] = squeezed(l)
	}
	x.tell = telling(req.Lines, x.keys)
	return x
}

// attribute finds the origins of all lines.
func (x *attribution) attribute() error {
	if err := x.readNamed(path.Base(x.req.Path)); err != nil {
		return err
	}
	x.take(x.replay())
	more, err := x.readLike(x.doubtful())
	if err != nil {
		return err
	}
	if more {
		x.found = make([]found, len(x.lines))
		x.take(x.replay())
	}
	for _, h := range x.same {
		x.alike(h.lines())
	}
	x.short()
	x.blank()
	return x.ctx.Err()
}

// readNamed reads the calls that name a file, and those that name what it was moved from.
func (x *attribution) readNamed(name string) error {
	for names := []string{name}; len(names) > 0 && len(x.named) < mostNames; names = names[1:] {
		if x.named[names[0]] {
			continue
		}
		x.named[names[0]] = true
		if err := x.collector.named(names[0]); err != nil {
			return err
		}
		for _, c := range x.ordered() {
			if c.effect != nil && c.effect.From != "" && x.named[path.Base(c.path)] {
				names = append(names, path.Base(c.effect.From))
			}
		}
	}
	return x.ctx.Err()
}

// replay makes the changes of the files with the names that were read.
func (x *attribution) replay() *replay {
	r := &replay{files: make(map[string]*history), same: func(path string) bool { return x.rank(path) <= 1 }}
	for _, c := range x.ordered() {
		if x.ctx.Err() != nil {
			break
		}
		if x.rank(c.path) == 0 { // perhaps by a symbolic link
			c.path = x.req.Path
		}
		if x.named[path.Base(c.path)] || c.effect != nil && c.effect.From != "" {
			r.apply(c)
		}
	}
	return r
}

// mostNames is how many names a file may have had.
const mostNames = 6

// open returns the numbers of the lines that have no origin and could tell theirs.
func (x *attribution) open() []int {
	return x.linesWhere(func(f *found) bool { return f.by == nil })
}

// linesWhere returns the numbers of the lines that could tell their origin and that passes accepts.
func (x *attribution) linesWhere(passes func(*found) bool) (list []int) {
	for i := range x.lines {
		if x.tell[i] && passes(&x.found[i]) {
			list = append(list, i)
		}
	}
	return list
}

// doubtful returns the numbers of lines that another file may have had before: those without an
// origin, the longest first, and some that came with the first text that is known of the file.
func (x *attribution) doubtful() []int {
	longest := func(list []int) []int {
		slices.SortStableFunc(list, func(a, b int) int { return len(x.lines[b]) - len(x.lines[a]) })
		return list[:min(len(list), mostLookups)]
	}
	return slices.Concat(longest(x.open()), longest(x.linesWhere(func(f *found) bool { return f.first })))
}

// Lines without an origin are looked up by their words.
const (
	mostLookups = 30  // lines of a kind
	mostWords   = 5   // of a line
	fewCalls    = 100 // with the words: more than these tell nothing
)

// readLike reads the calls that have lines without an origin, and then those that name the files
// of these calls. It reports whether there are any.
func (x *attribution) readLike(lines []int) (more bool, err error) {
	before := len(x.changes)
	var lists [][]string
	for _, i := range lines {
		words := terms(x.lines[i])
		slices.SortStableFunc(words, func(a, b string) int { return len(b) - len(a) })
		if words = words[:min(len(words), mostWords)]; len(words) > 1 || len(strings.Join(words, "")) >= shortest {
			lists = append(lists, words)
		}
	}
	found, _, err := x.candidates(session.KindCall, fewCalls, lists...)
	if err == nil {
		err = x.collector.open()
	}
	if err == nil {
		found = slices.DeleteFunc(found, func(p candidate) bool { return x.read[p.place] })
		err = x.readAll(x.cover(found))
	}
	if err != nil {
		return false, err
	}
	count := make(map[string]int) // lines of the file in the changes, by the name of the file that these changed
	text := make(map[string]bool, len(lines))
	for _, i := range lines {
		text[x.keys[i]] = true
	}
	for _, c := range x.changes[before:] {
		for _, l := range c.lines() {
			if text[squeezed(l)] {
				count[path.Base(c.path)]++
			}
		}
	}
	var names []string
	for name := range count {
		if !x.named[name] {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(count[b]-count[a], cmp.Compare(a, b)) })
	names = names[:min(len(names), mostNames/2)]
	for _, name := range names {
		if err := x.readNamed(name); err != nil {
			return false, err
		}
	}
	return len(names) > 0, nil
}

// enoughWith is how many of the candidates that have a line are read, as far as there are.
const enoughWith = 2

// cover chooses candidates until each list is in enough of them: those with most lists first, and the
// latest sessions before others.
func (x *attribution) cover(list []candidate) map[place][]string {
	chosen := make(map[place][]string)
	list = slices.DeleteFunc(list, func(p candidate) bool { return x.files[p.file] == nil })
	slices.SortStableFunc(list, func(a, b candidate) int {
		s, t := x.files[a.file], x.files[b.file]
		return cmp.Or(t.Newest.Compare(s.Newest), cmp.Compare(s.Path, t.Path), cmp.Compare(b.offset, a.offset))
	})
	for range enoughWith {
		for left := ^uint64(0); len(list) > 0; {
			at, most := 0, 0
			for i := range list {
				if n := bits.OnesCount64(list[i].lists & left); n > most {
					at, most = i, n
				}
			}
			if most == 0 {
				break
			}
			left &^= list[at].lists
			chosen[list[at].place] = nil
			list = slices.Delete(list, at, at+1)
		}
	}
	return chosen
}

// take finds the lines in the histories: first in the history of the file, then of the same file in
// other checkouts, of other files with its name, and of all others.
func (x *attribution) take(r *replay) {
	x.swaps, x.same = r.swaps, nil
	var list []*history
	for _, h := range r.files {
		if x.named[path.Base(h.path)] {
			list = append(list, h)
		}
	}
	shared, telling := make(map[*history]int), 0
	for _, h := range list {
		shared[h], telling = h.shared(x.keys, x.tell)
	}
	slices.SortFunc(list, func(a, b *history) int {
		return cmp.Or(x.rank(a.path)-x.rank(b.path), shared[b]-shared[a], cmp.Compare(a.path, b.path))
	})
	for _, h := range list {
		rank := x.rank(h.path)
		isSame := rank == 0 || shared[h] >= enoughShared && 5*shared[h] >= min(telling, len(h.once)) || rank == 1 && shared[h] > 0 && 2*shared[h] >= telling
		x.inOrder(h.lines(), isSame)
		if isSame {
			x.same = append(x.same, h)
			// A line may have been in the file once: somebody took it back from git, or the order of
			// the changes is not known.
			for _, i := range x.open() {
				if l, ok := h.once[x.keys[i]]; ok {
					x.set(i, &l)
				}
			}
		}
	}
}

// enoughShared is how many telling lines two files share that are the same in different places.
const enoughShared = 3

// set gives a line an origin, unless it has one.
func (x *attribution) set(i int, l *line) {
	if x.found[i].by != nil || l.by == nil {
		return
	}
	x.found[i] = found{by: l.by, how: Space, first: l.first}
	if l.text == x.lines[i] && !l.spaced {
		x.found[i].how = Exact
	}
}

// inOrder matches the lines of the file with the lines of a history. If the history may be of
// another file, only runs of lines count.
func (x *attribution) inOrder(all []line, isSame bool) {
	m := diff.Match(keys(all), x.keys)
	used := make([]bool, len(all))
	for from := 0; from < len(m); {
		to, telling := from+1, 0
		for to < len(m) && m[from] >= 0 && m[to] == m[to-1]+1 {
			to++
		}
		for i := from; i < to; i++ {
			if m[i] >= 0 && x.tell[i] {
				telling++
			}
		}
		for i := from; i < to; i++ {
			if m[i] >= 0 && telling > 0 && (isSame || telling >= enoughShared) {
				used[m[i]] = true
				x.set(i, &all[m[i]])
			}
		}
		from = to
	}
	if !isSame {
		return
	}
	left := make(map[string]*line) // in another order
	unique := telling(nil, keys(all))
	for i := range all {
		if l := &all[i]; !used[i] && l.by != nil && unique[i] {
			left[l.key] = l
		}
	}
	for _, i := range x.open() {
		if l := left[x.keys[i]]; l != nil {
			x.set(i, l)
		}
	}
}

// later returns a line as swaps in a file of this name made it, after a person renamed the file.
func (x *attribution) later(l line) line {
	for _, c := range x.swaps {
		if text := swapped(l.text, c.effect.Swaps); text != l.text && c.by.compare(l.by) > 0 {
			l = newLine(text, c.by)
		}
	}
	return l
}

// nearEnough is how near a line must be to be called alike.
const nearEnough = 0.6

// alike finds lines without an origin that stand where the history has a similar line.
func (x *attribution) alike(all []line) {
	m := diff.Match(keys(all), x.keys)
	taken, unique := make([]bool, len(all)), telling(nil, keys(all))
	for _, at := range m {
		if at >= 0 {
			taken[at] = true
		}
	}
	for _, i := range x.open() {
		from, to := -1, len(all)
		for k := i - 1; k >= 0 && from < 0; k-- {
			from = m[k]
		}
		for k := i + 1; k < len(m) && to == len(all); k++ {
			if m[k] >= 0 {
				to = m[k]
			}
		}
		best, near := -1, nearEnough
		for k := from + 1; k < to; k++ {
			if all[k].by == nil || taken[k] || !unique[k] {
				continue
			}
			if l := x.later(all[k]); l.key == x.keys[i] {
				x.set(i, &l)
				taken[k], best = true, -1
				break
			}
			if n := likeness(all[k].text, x.lines[i]); n >= near {
				best, near = k, n
			}
		}
		if best >= 0 {
			taken[best] = true
			x.found[i] = found{by: all[best].by, how: Alike, near: near}
		}
	}
}

// short decides about lines that tell nothing alone. They have the origin of a line beside them if
// its call wrote both in sequence, or if the history has them between lines of any origin.
func (x *attribution) short() {
	for i := range x.lines {
		if f := &x.found[i]; f.by != nil && !x.tell[i] && !x.anchored(i, -1) && !x.anchored(i, 1) {
			*f = found{}
		}
	}
	for i := range x.lines {
		x.follow(i, -1)
	}
	for i := len(x.lines) - 1; i >= 0; i-- {
		x.follow(i, 1)
	}
}

// anchored reports whether the lines in a direction have an origin, up to one that tells it.
func (x *attribution) anchored(i, step int) bool {
	for i += step; i >= 0 && i < len(x.lines) && x.found[i].by != nil; i += step {
		if x.tell[i] {
			return true
		}
	}
	return false
}

// follow lets a line without an origin inherit its neighbour's, if the same call wrote both in
// sequence.
func (x *attribution) follow(i, step int) {
	k := i + step
	if x.found[i].by != nil || x.tell[i] || k < 0 || k >= len(x.lines) || x.found[k].by == nil || x.found[k].how == Alike {
		return
	}
	by := x.found[k].by
	if by.wrote == nil {
		for _, text := range by.change.lines() {
			by.wrote = append(by.wrote, newLine(text, by))
		}
	}
	for n := range by.wrote {
		if at := n + step; by.wrote[n].key == x.keys[i] && at >= 0 && at < len(by.wrote) && by.wrote[at].key == x.keys[k] {
			x.set(i, &by.wrote[n])
			return
		}
	}
}

// blank gives blank lines the origin of the lines above and below if that is the same call, and no
// other.
func (x *attribution) blank() {
	for from := 0; from < len(x.lines); from++ {
		to := from
		for ; to < len(x.lines) && x.keys[to] == ""; to++ {
			x.found[to] = found{}
		}
		if from < to && from > 0 && to < len(x.lines) && x.found[from-1].isSameBlock(&x.found[to]) {
			for i := from; i < to; i++ {
				x.found[i] = x.found[to]
			}
		}
		from = max(from, to)
	}
}

// shortest is how many bytes a line has at least that tells where it is from. Shorter ones
// stand anywhere.
const shortest = 12

// tells reports whether a line alone can tell where it is from.
func tells(line string) bool { return len(strings.TrimSpace(line)) >= shortest }

// telling reports which lines can tell where they are from: those that are long enough, and unique in
// the text. Without lines, the keys stand for them.
func telling(lines, keys []string) []bool {
	count := make(map[string]int, len(keys))
	for _, k := range keys {
		count[k]++
	}
	list := make([]bool, len(keys))
	for i, k := range keys {
		text := k
		if lines != nil {
			text = lines[i]
		}
		list[i] = count[k] == 1 && tells(text)
	}
	return list
}

// squeezed returns a line without its white space.
func squeezed(line string) string {
	line = strings.TrimSpace(line)
	if strings.IndexByte(line, ' ') < 0 && strings.IndexByte(line, '\t') < 0 {
		return line
	}
	b := make([]byte, 0, len(line))
	for i := range len(line) {
		if c := line[i]; c != ' ' && c != '\t' {
			b = append(b, c)
		}
	}
	return string(b)
}

// likeness says how alike two lines are, by the pairs of characters that they share: 1 if these
// are the same.
func likeness(a, b string) float64 {
	a, b = squeezed(a), squeezed(b)
	if len(a) < 2 || len(b) < 2 || 3*min(len(a), len(b)) < max(len(a), len(b)) {
		return 0
	}
	count := make(map[[2]byte]int, len(a))
	for i := 1; i < len(a); i++ {
		count[[2]byte{a[i-1], a[i]}]++
	}
	same := 0
	for i := 1; i < len(b); i++ {
		if p := [2]byte{b[i-1], b[i]}; count[p] > 0 {
			count[p]--
			same++
		}
	}
	return 2 * float64(same) / float64(len(a)+len(b)-2)
}
