package record

import "pigrep/index/format"

// appendColumns appends a column of each figure in the rows of the items.
func appendColumns[T any](b []byte, items []T, appendRow func(rows []int64, item *T) []int64) []byte {
	columns := len(appendRow(nil, new(T)))
	rows := make([]int64, 0, columns*len(items))
	for i := range items {
		rows = appendRow(rows, &items[i])
	}
	for column := range columns {
		b = format.AppendColumn(b, len(items), func(i int) int64 { return rows[i*columns+column] })
	}
	return b
}

// appendColumn appends a column of numbers.
func appendColumn[T ~int32 | ~int64 | ~uint64](b []byte, numbers []T) []byte {
	return format.AppendColumn(b, len(numbers), func(i int) int64 { return int64(numbers[i]) })
}

func (d *factDecoder) columns(n int, columns ...*format.Column) {
	for _, c := range columns {
		*c = d.Column(n)
	}
}

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

func appendNames[T any](b []byte, list []T, name func(*T) string) []byte {
	var names grouping[string, struct{}]
	numbers := make([]int64, len(list))
	for i := range list {
		numbers[i] = int64(names.number(name(&list[i])))
	}
	return appendColumn(format.AppendStrings(b, names.keys), numbers)
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

func appendEnds[T any](b []byte, list []T, size func(*T) int) []byte {
	end := int64(0)
	ends := make([]int64, len(list))
	for i := range list {
		end += int64(size(&list[i]))
		ends[i] = end
	}
	return appendColumn(b, ends)
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

func appendTexts[T any](b []byte, list []T, text func(*T) string) []byte {
	b = appendEnds(b, list, func(x *T) int { return len(text(x)) })
	for i := range list {
		b = append(b, text(&list[i])...)
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

func (l *Lists) Numbers(i int, visit func(number int)) {
	for from, to := l.bounds(i); from < to; from++ {
		visit(l.names.Number(from))
	}
}

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

func appendLists[T any](b []byte, list []T, strings func(*T) []string) []byte {
	var all []string
	for i := range list {
		all = append(all, strings(&list[i])...)
	}
	b = appendEnds(b, list, func(x *T) int { return len(strings(x)) })
	return appendNames(b, all, func(s *string) string { return *s })
}
