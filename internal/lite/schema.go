package lite

import (
	"fmt"
	"slices"
	"strings"
)

// object is a table or an index, as the schema lists it.
type object struct {
	kind, name, of string
	root           uint32
	sql            []string // its words
}

// table is where the rows of a table are, and what is in them.
type table struct {
	object
	columns []string // in the order of the values of a record, in small letters
	id      int      // the column that is the number of the row; -1 for none
	unique  []string // the columns of the index that SQLite made for the first constraint
	sorted  []string // the columns whose texts indexes have in another order than that of their bytes
}

func (db *DB) readSchema() error {
	left := int(db.pages)
	return db.rows(1, 0, &left, func(_ int64, p payload) error {
		r, err := p.record()
		if err != nil {
			return err
		}
		var v [5]Value
		for i := range v {
			if v[i], err = r.value(i); err != nil {
				return err
			}
		}
		db.schema = append(db.schema, object{v[0].String(), v[1].String(), v[2].String(), uint32(v[3].Int), wordsOf(v[4].String())})
		return nil
	})
}

// Has reports whether there is a table of a name.
func (db *DB) Has(name string) bool { return db.object("table", name) != nil }

func (db *DB) object(kind, name string) *object {
	i := slices.IndexFunc(db.schema, func(o object) bool { return o.kind == kind && strings.EqualFold(o.name, name) })
	if i < 0 {
		return nil
	}
	return &db.schema[i]
}

// described returns a table with its columns.
func (db *DB) described(name string) (*table, error) {
	o := db.object("table", name)
	if o == nil {
		return nil, fmt.Errorf("%w: %s", ErrNoTable, name)
	}
	t := &table{object: *o, id: -1}
	inner, after := inParens(o.sql)
	if inner == nil || o.root == 0 {
		return nil, fmt.Errorf("%w: table %s", ErrUnsupported, name)
	}
	if at := indexWord(after, "without"); at >= 0 {
		return nil, fmt.Errorf("%w: table %s is WITHOUT ROWID", ErrUnsupported, name)
	}
	for _, def := range splitWords(inner) {
		t.add(def)
	}
	return t, nil
}

// add reads the definition of a column, or a constraint.
func (t *table) add(def []string) {
	if len(def) == 0 {
		return
	}
	primary, unique := indexWord(def, "primary"), indexWord(def, "unique")
	switch def[0] {
	case "constraint", "primary", "unique", "check", "foreign":
		if primary < 0 && unique < 0 {
			return
		}
		inner, _ := inParens(def[max(primary, unique):])
		list := namesOf(inner)
		if at := slices.Index(t.columns, "\x00"+list[0]); primary >= 0 && len(list) == 1 && at >= 0 {
			t.id = at // its type is INTEGER
		} else if t.unique == nil {
			t.unique = list
		}
		return
	}
	as := indexWord(def, "as")
	if as >= 0 && as+1 < len(def) && def[as+1] == "(" && indexWord(def, "stored") < 0 {
		return // it is computed, and in no record
	}
	column := name(def[0])
	isInteger := len(def) > 1 && def[1] == "integer" && (len(def) == 2 || !isType(def[2]))
	switch {
	case isInteger && primary >= 0 && (primary+2 >= len(def) || def[primary+2] != "desc"):
		t.id = len(t.columns)
	case (primary >= 0 || unique >= 0) && t.unique == nil:
		t.unique = []string{column}
	}
	if indexWord(def, "collate") >= 0 {
		t.sorted = append(t.sorted, column)
	}
	if isInteger {
		column = "\x00" + column
	}
	t.columns = append(t.columns, column)
}

// isType reports whether a word behind the first word of a type is more of it.
func isType(word string) bool {
	return !slices.Contains([]string{"constraint", "primary", "not", "null", "unique", "check", "default", "collate", "references", "generated", "as"}, word)
}

// place returns which value of a record a column is, -1 if the table does not have it.
func (t *table) place(column string) int {
	return slices.IndexFunc(t.columns, func(c string) bool { return strings.EqualFold(strings.TrimPrefix(c, "\x00"), column) })
}

func (t *table) value(r *record, place int, id int64) (Value, error) {
	switch place {
	case -1:
		return Value{}, nil
	case t.id:
		return Value{Kind: Int, Int: id}, nil
	}
	return r.value(place)
}

// tableIndex is an index that has all rows of a table.
type tableIndex struct {
	root    uint32
	columns []string
}

// places returns which values of a record the columns are. ok is false if one is not in the index.
func (x *tableIndex) places(columns []string) (at []int, ok bool) {
	for _, c := range columns {
		i := slices.Index(x.columns, strings.ToLower(c))
		if i < 0 {
			return nil, false
		}
		at = append(at, i)
	}
	return at, true
}

// indexes returns the indexes of a table whose first column has the order of bytes.
func (db *DB) indexes(t *table) (list []tableIndex) {
	for i := range db.schema {
		o := &db.schema[i]
		columns := t.unique
		switch {
		case o.kind != "index" || !strings.EqualFold(o.of, t.name):
			continue
		case len(o.sql) > 0:
			inner, after := inParens(o.sql)
			if columns = namesOf(inner); len(after) > 0 { // it has some rows only
				continue
			}
		case !strings.EqualFold(o.name, "sqlite_autoindex_"+t.name+"_1"):
			continue
		}
		if len(columns) > 0 && t.place(columns[0]) >= 0 && !slices.Contains(t.sorted, columns[0]) {
			list = append(list, tableIndex{o.root, columns})
		}
	}
	return list
}

// namesOf returns the names in a list. What is more than a name, such as one with an order, is none.
func namesOf(words []string) (list []string) {
	for _, item := range splitWords(words) {
		if len(item) == 1 {
			list = append(list, name(item[0]))
		} else {
			list = append(list, "")
		}
	}
	return list
}

// wordsOf returns the words, names, strings and signs of a statement. Words are in small letters; names and strings
// are quoted.
func wordsOf(sql string) (words []string) {
	const letters = "abcdefghijklmnopqrstuvwxyz0123456789_$"
	isLetter := func(c byte) bool { return c >= 0x80 || strings.IndexByte(letters, c|0x20) >= 0 || c == '_' }
	for i := 0; i < len(sql); {
		c, end := sql[i], i+1
		switch {
		case strings.IndexByte(" \t\r\n\f", c) >= 0:
			i++
			continue
		case strings.HasPrefix(sql[i:], "--"):
			i = after(sql, i, "\n")
			continue
		case strings.HasPrefix(sql[i:], "/*"):
			i = after(sql, i+2, "*/")
			continue
		case c == '[':
			end = after(sql, i, "]")
			words = append(words, `"`+strings.ToLower(strings.Trim(sql[i:end], "[]"))+`"`)
			i = end
			continue
		case c == '"', c == '`', c == '\'':
			for end = after(sql, end, string(c)); end < len(sql) && sql[end] == c; {
				end = after(sql, end+1, string(c))
			}
		case isLetter(c):
			for end < len(sql) && isLetter(sql[end]) {
				end++
			}
		}
		words = append(words, strings.ToLower(sql[i:end]))
		i = end
	}
	return words
}

// after returns the offset behind the next mark, or the end.
func after(sql string, from int, mark string) int {
	if n := strings.Index(sql[min(from, len(sql)):], mark); n >= 0 {
		return from + n + len(mark)
	}
	return len(sql)
}

// name returns the name that a word is.
func name(word string) string {
	if q := word[:1]; len(word) >= 2 && strings.Contains("\"`'", q) {
		return strings.ReplaceAll(word[1:len(word)-1], q+q, q)
	}
	return word
}

// inParens returns the words in the first parentheses, and those behind them.
func inParens(words []string) (inner, rest []string) {
	from := slices.Index(words, "(")
	depth := 0
	for i := max(from, 0); i < len(words) && from >= 0; i++ {
		switch words[i] {
		case "(":
			depth++
		case ")":
			if depth--; depth == 0 {
				return words[from+1 : i], words[i+1:]
			}
		}
	}
	return nil, nil
}

// splitWords splits a list at its commas.
func splitWords(words []string) (list [][]string) {
	depth, from := 0, 0
	for i, w := range words {
		switch {
		case w == "(":
			depth++
		case w == ")":
			depth--
		case w == "," && depth == 0:
			list, from = append(list, words[from:i]), i+1
		}
	}
	return append(list, words[from:])
}

// indexWord returns where a word is outside of parentheses, -1 if it is not.
func indexWord(words []string, word string) int {
	depth := 0
	for i, w := range words {
		switch {
		case w == "(":
			depth++
		case w == ")":
			depth--
		case w == word && depth == 0:
			return i
		}
	}
	return -1
}
