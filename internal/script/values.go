package script

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// value is what is known of a value.
type value struct {
	sort  sort
	text  string // of a text, a number, a word; the name of a tool or method
	glued bool
	list  []value  // elements, or the members of an object
	keys  []string // of the members
	fn    *function
	of    *value // of a method: whose it is; nil if it is Promise.all or the like
}

type sort uint8

// The sorts of values.
const (
	unknown sort = iota
	aText
	aNumber
	aWord // true, false, null, undefined
	aList
	anObject
	aFunction
	aMethod
	allTools
	aTool
)

// list reads the values of a list up to a token. known is false if it has more than these.
func (r *reader) list(end int) (all []value, known bool) {
	known = true
	for r.at < end && r.spend(1) {
		from := r.at
		switch {
		case r.accept("..."):
			v := r.expression()
			known = known && v.sort == aList
			all = append(all, v.list...)
		case r.is(","):
			all = append(all, value{})
		default:
			all = append(all, r.expression())
		}
		if !r.accept(",") && r.at == from {
			r.at++
		}
	}
	return all, known
}

// expression reads an expression without commas.
func (r *reader) expression() (v value) {
	if !r.deeper(func() { v = r.assignment() }) {
		r.skip()
	}
	return v
}

// assignments are the signs that give a name another value.
var assignments = strings.Fields("= += -= *= /= %= **= &&= ||= ??= <<= >>= >>>= |= &= ^=")

// operators are those between two values but for +.
var operators = strings.Fields("- * / % ** == != === !== < > <= >= && || ?? | & ^ << >> >>> in instanceof")

func (r *reader) assignment() value {
	if v, ok := r.arrow(); ok {
		return v
	}
	v := r.operation()
	if r.accept("?") {
		r.expression()
		if r.accept(":") {
			r.expression()
		}
		return value{}
	}
	return v
}

// operation reads values with operators between them. Only texts can be added.
func (r *reader) operation() value {
	v := r.unary()
	for r.spend(1) {
		switch {
		case r.accept("+"):
			v = r.plus(v, r.unary())
		case r.tok(0).isAny(operators...):
			r.at++
			r.unary()
			v = value{}
		case r.tok(0).isAny(assignments...): // of the chain that was read last
			r.at++
			v = r.expression()
		default:
			return v
		}
	}
	return value{}
}

// plus returns the sum of two values if it is a text.
func (r *reader) plus(a, b value) value {
	if a.sort == aList && b.sort == aList { // of concat
		return value{sort: aList, list: slices.Concat(a.list, b.list)}
	}
	if a.sort != aText && b.sort != aText || !a.isPlain() || !b.isPlain() || !r.make(len(a.text)+len(b.text)) {
		return value{}
	}
	return value{sort: aText, text: a.text + b.text, glued: a.glued || b.glued}
}

// isPlain reports whether the value has a text.
func (v *value) isPlain() bool { return v.sort == aText || v.sort == aNumber || v.sort == aWord }

// make reports whether a text of n bytes may be made.
func (r *reader) make(n int) bool {
	r.bytes -= n
	if r.bytes < 0 {
		r.whole = false
	}
	return r.bytes >= 0
}

// unary reads a value with the operators before it.
func (r *reader) unary() (v value) {
	known := true
	for r.tok(0).isAny("await", "!", "-", "+", "~", "typeof", "void", "delete", "new", "yield", "++", "--") && r.spend(1) {
		switch {
		case r.is("++"), r.is("--"):
			r.changed[r.tok(1).text] = true
			known = false
		case !r.is("await"):
			known = false
		}
		r.at++
	}
	if v = r.chain(); !known {
		return value{}
	}
	return v
}

// mutators are the methods that change a list.
var mutators = strings.Fields("push unshift splice pop shift sort reverse fill")

// chain reads a value, and what follows it: members, elements and arguments.
func (r *reader) chain() value {
	root := ""
	if t := r.tok(0); t.kind == name {
		root = t.text
	}
	v := r.primary()
	for r.spend(1) {
		t := r.tok(0)
		switch {
		case t.isAny(".", "?.") && r.tok(1).kind == name:
			if slices.Contains(mutators, r.tok(1).text) && r.tok(2).is("(") {
				r.changed[root] = true
			}
			v = v.member(r.tok(1).text)
			r.at += 2
		case t.is("?."), t.is("!") && !r.tok(0).line && r.tok(1).is("."):
			r.at++
		case t.is("["):
			var key value
			r.within(func(end int) {
				if list, _ := r.list(end); len(list) > 0 {
					key = list[len(list)-1]
				}
			})
			n, err := strconv.Atoi(key.text)
			switch {
			case key.sort == aText:
				v = v.member(key.text)
			case key.sort == aNumber && err == nil:
				v = v.element(n)
			case v.sort == allTools:
				v = value{sort: aTool}
			default:
				v = value{}
			}
		case t.is("("):
			args := []value{}
			r.within(func(end int) {
				if list, known := r.list(end); !known {
					args = nil
				} else {
					args = append(args, list...)
				}
			})
			v = r.call(v, args)
		case t.kind == template && !t.inner && v.sort == aMethod && v.text == "String.raw":
			v = r.template(true)
		case t.kind == template && !t.inner && !t.line:
			r.template(false)
			v = value{}
		case t.isAny("++", "--") && !t.line:
			r.changed[root] = true
			r.at++
			v = value{}
		default:
			if t.isAny(assignments...) {
				r.changed[root] = true
			}
			return v
		}
	}
	return value{}
}

// primary reads a value of one piece.
func (r *reader) primary() (v value) {
	t := r.tok(0)
	switch {
	case t.kind == text:
		r.at++
		return value{sort: aText, text: t.text, glued: t.glued}
	case t.kind == number:
		r.at++
		return numberOf(t.text)
	case t.kind == pattern:
		r.at++
	case t.kind == template && !t.inner:
		return r.template(false)
	case t.is("("):
		r.within(func(end int) {
			if list, _ := r.list(end); len(list) > 0 {
				v = list[len(list)-1]
			}
		})
	case t.is("["):
		r.within(func(end int) {
			if list, known := r.list(end); known {
				v = value{sort: aList, list: list}
			}
		})
	case t.is("{"):
		v = value{sort: anObject}
		r.within(func(end int) { r.members(&v, end) })
	case t.is("function"), t.is("async") && r.tok(1).is("function"):
		return r.function()
	case t.kind == name:
		r.at++
		return r.lookup(t.text)
	}
	return v
}

func numberOf(s string) value {
	s = strings.ReplaceAll(s, "_", "")
	if n, err := strconv.ParseInt(s, 0, 64); err == nil {
		return value{sort: aNumber, text: strconv.FormatInt(n, 10)}
	}
	if json.Valid([]byte(s)) {
		return value{sort: aNumber, text: s}
	}
	return value{}
}

// template reads a template. It is known if all that is in ${} is.
func (r *reader) template(raw bool) value {
	all, known := textOf("", false), true
	for r.spend(1) {
		t := r.tok(0)
		piece := textOf(t.text, t.glued)
		last := t.match <= r.at || t.match >= len(r.tokens)
		if raw {
			from := t.start + 1 // behind the quote or bracket
			to := max(from, t.end-len("`"))
			if !last {
				to = max(from, t.end-len("${"))
			}
			piece = textOf(string(r.src[from:min(to, len(r.src))]), false)
		}
		if all = r.plus(all, piece); all.sort == unknown {
			known = false
		}
		r.at++
		if last {
			break
		}
		list, _ := r.list(t.match)
		if len(list) != 1 || !list[0].isPlain() {
			known = false
		} else if known {
			all = r.plus(all, list[0])
		}
		r.at = t.match
	}
	if !known {
		return value{}
	}
	return all
}

// members reads the members of an object.
func (r *reader) members(v *value, end int) {
	for r.at < end && r.spend(1) {
		from, t := r.at, r.tok(0)
		switch {
		case r.accept("..."):
			o := r.expression()
			if o.sort != anObject {
				v.keys, v.list = nil, nil // any may be another one
			}
			for i := range o.keys {
				v.set(o.keys[i], o.list[i])
			}
		case t.is("["):
			var keys []value
			r.within(func(end int) { keys, _ = r.list(end) })
			if r.accept(":") {
				if x := r.expression(); len(keys) == 1 && keys[0].sort == aText {
					v.set(keys[0].text, x)
				}
			}
		case t.isAny("async", "get", "set", "*") && !r.tok(1).isAny(":", ",", "}", "("):
			r.at++
		case r.tok(1).is(":"):
			r.at += 2
			v.set(t.text, r.expression())
		case r.tok(1).is("("):
			v.set(t.text, r.function())
		case t.kind == name:
			r.at++
			v.set(t.text, r.lookup(t.text))
		}
		if !r.accept(",") && r.at == from {
			r.at++
		}
	}
}

// set gives an object a member.
func (v *value) set(key string, x value) {
	if i := slices.Index(v.keys, key); i >= 0 {
		v.list[i] = x
		return
	}
	if len(v.keys) < mostMembers {
		v.keys, v.list = append(v.keys, key), append(v.list, x)
	}
}

func textOf(s string, glued bool) value { return value{sort: aText, text: s, glued: glued} }

func intOf(n int) value { return value{sort: aNumber, text: strconv.Itoa(n)} }

func (v *value) element(n int) value {
	if v.sort == aList && n >= 0 && n < len(v.list) {
		return v.list[n]
	}
	return value{}
}

// member returns a member of a value, or a method.
func (v value) member(key string) value {
	switch v.sort {
	case anObject:
		if i := slices.Index(v.keys, key); i >= 0 {
			return v.list[i]
		}
	case allTools:
		return value{sort: aTool, text: key}
	case aList:
		if key == "length" {
			return intOf(len(v.list))
		}
	case aMethod:
		if v.of == nil {
			return value{sort: aMethod, text: v.text + "." + key}
		}
	}
	return value{sort: aMethod, text: key, of: &v}
}

// call calls a value.
func (r *reader) call(v value, args []value) value {
	switch v.sort {
	case aTool:
		r.add(v.text, argument(args, 0))
	case aFunction:
		return r.invoke(v.fn, args)
	case aMethod:
		return r.method(v, args)
	default:
		r.callBack(args)
	}
	return value{}
}

// callBack runs the functions among the arguments of an unknown one, once.
func (r *reader) callBack(args []value) {
	for i := range args {
		if args[i].sort == aFunction && r.spend(1) {
			r.invoke(args[i].fn, nil)
		}
	}
}

// method calls a method.
func (r *reader) method(v value, args []value) value {
	first, of := argument(args, 0), value{}
	if v.of != nil {
		of = *v.of
	}
	switch {
	case v.text == "Promise.all", v.text == "Promise.allSettled":
		return first
	case v.text == "Object.entries":
		return r.entries(first)
	case v.text == "Object.values" && first.sort == anObject:
		return value{sort: aList, list: first.list}
	case of.sort == aList && first.sort == aFunction && slices.Contains(passes, v.text):
		all := value{sort: aList}
		for i, x := range of.list {
			if !r.spend(1) {
				return value{}
			}
			all.list = append(all.list, r.invoke(first.fn, []value{x, intOf(i), of}))
		}
		if v.text == "map" {
			return all
		}
		return value{}
	case v.text == "entries" && of.sort == aList:
		return r.entries(of)
	case v.text == "join" && of.sort == aList:
		return r.join(of.list, first, len(args) == 0)
	case v.text == "concat" && len(args) == 1:
		return r.plus(of, first)
	case v.text == "trim" && of.sort == aText:
		return textOf(strings.TrimSpace(of.text), of.glued)
	}
	r.callBack(args)
	return value{}
}

// passes are the methods of a list that call a function for each element.
var passes = strings.Fields("map flatMap forEach filter some every find")

// entries returns the pairs of keys and values.
func (r *reader) entries(of value) value {
	if of.sort != aList && of.sort != anObject || !r.spend(len(of.list)) {
		return value{}
	}
	pairs := value{sort: aList}
	for i, x := range of.list {
		key := intOf(i)
		if of.sort == anObject {
			key = textOf(of.keys[i], false)
		}
		pairs.list = append(pairs.list, value{sort: aList, list: []value{key, x}})
	}
	return pairs
}

// join returns the elements of a list with a text between them.
func (r *reader) join(list []value, between value, usual bool) value {
	if usual {
		between = textOf(",", false)
	}
	size, glued := 0, between.glued
	texts := make([]string, 0, len(list))
	for i := range list {
		if !list[i].isPlain() {
			return value{}
		}
		texts = append(texts, list[i].text)
		size, glued = size+len(list[i].text)+len(between.text), glued || list[i].glued
	}
	if between.sort != aText || !r.make(size) {
		return value{}
	}
	return textOf(strings.Join(texts, between.text), glued)
}

// add adds a call.
func (r *reader) add(tool string, argument value) {
	if len(r.calls) >= mostCalls {
		r.whole = false
		return
	}
	c := Call{Tool: tool}
	if argument.sort == aText || argument.sort == anObject {
		c.JSON = r.json(nil, &argument, &c.Glued, 0)
	}
	r.calls = append(r.calls, c)
}

// json appends the JSON of a value, with null in the place of what is not known.
func (r *reader) json(to []byte, v *value, glued *bool, depth int) []byte {
	*glued = *glued || v.glued
	switch {
	case depth > deepest, !r.spend(1), !r.make(len(v.text)):
		r.whole = false
	case v.sort == aText:
		data, _ := json.Marshal(v.text)
		return append(to, data...)
	case v.sort == aNumber, v.sort == aWord && v.text != "undefined":
		return append(to, v.text...)
	case v.sort == aList:
		to = append(to, '[')
		for i := range v.list {
			if i > 0 {
				to = append(to, ',')
			}
			to = r.json(to, &v.list[i], glued, depth+1)
		}
		return append(to, ']')
	case v.sort == anObject:
		to = append(to, '{')
		first := true
		for i, key := range v.keys {
			if v.list[i].sort == unknown || v.list[i].sort >= aFunction {
				continue
			}
			if !first {
				to = append(to, ',')
			}
			first = false
			data, _ := json.Marshal(key)
			to = r.json(append(append(to, data...), ':'), &v.list[i], glued, depth+1)
		}
		return append(to, '}')
	}
	return append(to, "null"...)
}
