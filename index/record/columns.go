package record

import "pigrep/index/format"

// What a fact names is stored as columns:
//
//	names    strings, without repetition, and a column of the numbers of these
//	texts    a column of where each ends, and a string of all
//	lists    a column of where each ends, and names

// Names are n strings of a list of few.
type Names struct {
	List    []string // without repetition
	numbers format.Column
}

// Number returns which of the list string i is.
func (n *Names) Number(i int) int { return int(n.numbers.At(i)) }

// At returns string i.
func (n *Names) At(i int) string { return n.List[n.Number(i)] }

func (d *factDecoder) names(n int) Names {
	from := len(d.lists)
	d.lists = d.AppendStrings(d.lists)
	names := Names{d.lists[from:], d.Column(n)}
	if d.Failed() || !names.numbers.Below(n, len(names.List)) {
		d.Fail()
		return Names{}
	}
	return names
}

func appendNames(b []byte, n int, at func(int) string) []byte {
	var list []string
	numbers := make(map[string]int64)
	for i := range n {
		if _, ok := numbers[at(i)]; !ok {
			numbers[at(i)] = int64(len(list))
			list = append(list, at(i))
		}
	}
	b = format.AppendStrings(b, list)
	return format.AppendColumn(b, n, func(i int) int64 { return numbers[at(i)] })
}

// ends has the end of each of n items in their common storage.
type ends struct{ format.Column }

// bounds returns where item i begins and ends.
func (e *ends) bounds(i int) (from, to int) {
	if i > 0 {
		from = int(e.At(i - 1))
	}
	return from, int(e.At(i))
}

// ends reads where items end, and the size of all of them.
func (d *factDecoder) ends(n int) (e ends, size int) {
	if e.Column = d.Column(n); d.Failed() {
		return ends{}, 0
	}
	for i := range n {
		end := e.At(i)
		if end < int64(size) || end > int64(d.Left()) { // each takes a byte at least
			d.Fail()
			return ends{}, 0
		}
		size = int(end)
	}
	return e, size
}

func appendEnds(b []byte, n int, size func(int) int) []byte {
	list := make([]int64, n)
	end := int64(0)
	for i := range n {
		end += int64(size(i))
		list[i] = end
	}
	return format.AppendColumn(b, n, func(i int) int64 { return list[i] })
}

// texts are n strings.
type texts struct {
	ends
	all string
}

func (t *texts) at(i int) string {
	from, to := t.bounds(i)
	return t.all[from:to]
}

func (d *factDecoder) texts(n int) (t texts) {
	var size int
	if t.ends, size = d.ends(n); d.Failed() {
		return texts{}
	}
	t.all = d.Bytes(size)
	return t
}

func appendTexts(b []byte, n int, at func(int) string) []byte {
	b = appendEnds(b, n, func(i int) int { return len(at(i)) })
	for i := range n {
		b = append(b, at(i)...)
	}
	return b
}

// Lists are n lists of strings of a list of few.
type Lists struct {
	ends
	names Names // of all lists
}

// Names returns the strings, without repetition.
func (l *Lists) Names() []string { return l.names.List }

// Numbers visits which of the names list i has.
func (l *Lists) Numbers(i int, visit func(number int)) {
	for from, to := l.bounds(i); from < to; from++ {
		visit(l.names.Number(from))
	}
}

// Len returns the length of list i.
func (l *Lists) Len(i int) int {
	from, to := l.bounds(i)
	return to - from
}

// At returns list i, nil when it is empty.
func (l *Lists) At(i int) (list []string) {
	l.Numbers(i, func(number int) { list = append(list, l.names.List[number]) })
	return list
}

func (d *factDecoder) listsOf(n int) (l Lists) {
	var size int
	if l.ends, size = d.ends(n); d.Failed() {
		return Lists{}
	}
	l.names = d.names(size)
	return l
}

func appendLists(b []byte, n int, at func(int) []string) []byte {
	var all []string
	for i := range n {
		all = append(all, at(i)...)
	}
	b = appendEnds(b, n, func(i int) int { return len(at(i)) })
	return appendNames(b, len(all), func(i int) string { return all[i] })
}
