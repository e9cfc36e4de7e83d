// Package script answers which tools a script calls, and with which arguments, as far as literals
// say: strings, templates, lists and objects of them, constants, loops over lists of constants, and
// functions that are called with them. It reads JavaScript; it runs none.
//
// Reading is bounded: it takes time and memory in proportion to the script, whatever that says.
package script

import (
	"bytes"
	"slices"

	"github.com/tdewolff/parse/v2"
	"github.com/tdewolff/parse/v2/js"
)

// Call is a call of a tool.
type Call struct {
	Tool string // "" if it is not constant
	JSON []byte // its argument, without what is not constant; nil if none of it is

	// Glued says that words of the argument stick to letters of escapes in the script: a\nb.
	Glued bool
}

// Limits of what is read of a script.
const (
	longest     = 4 << 20 // bytes
	mostCalls   = 1000
	mostMembers = 1000    // of an object
	deepest     = 60      // nested calls of functions, and values
	mostOpen    = 10_000  // brackets: the parser has no limit for those of patterns
	mostScopes  = 2 << 20 // scopes around all words together: the parser passes the names of a scope to all around it
)

// Calls returns the calls of functions of the object tools, in the order in which the script makes
// them. whole is false if some may be missing. A script that does not parse makes none.
func Calls(src []byte) (calls []Call, whole bool) {
	r := read(src)
	return r.calls, r.whole
}

func read(src []byte) *reader {
	r := &reader{steps: 8*len(src) + 4000, bytes: 8*len(src) + 64<<10, changed: make(map[*js.Var]bool), ran: make(map[*js.BlockStmt]bool)}
	if len(src) > longest || !fits(src) {
		return r
	}
	tree, err := js.Parse(parse.NewInputString(string(src)), js.Options{Inline: true})
	if err != nil {
		r.whole = bytes.IndexByte(src, '(') < 0 // prose calls nothing
		return r
	}
	r.whole, r.scope = true, newScope(nil)
	js.Walk(r, tree)
	r.run(tree.List)
	for i := 0; i < len(r.functions) && r.steps > 0; i++ { // who calls them is not known
		if f := r.functions[i]; !r.ran[f.body] {
			r.invoke(f, value{})
		}
	}
	return r
}

// fits reports whether the parser takes a script in bounded time and memory. It counts the words and
// brackets of texts, too.
func fits(src []byte) bool {
	open, scopes := 0, 0
	for i, c := range src {
		switch {
		case c == '(' || c == '[' || c == '{':
			open++
		case c == ')' || c == ']' || c == '}':
			open = max(open-1, 0)
		case isWord(c) && (i == 0 || !isWord(src[i-1])):
			scopes += open
		}
		if open > mostOpen || scopes > mostScopes {
			return false
		}
	}
	return true
}

func isWord(c byte) bool {
	return c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' || c == '_' || c == '$' || c >= 0x80
}

// reader walks through a script.
type reader struct {
	scope     *scope
	changed   map[*js.Var]bool // that get another value after their first
	functions []*function
	ran       map[*js.BlockStmt]bool // bodies of functions
	result    *result                // of the function that runs; nil outside of functions
	depth     int
	steps     int // that are left
	bytes     int // that may still be made
	calls     []Call
	whole     bool
}

// result is what a function returns, and how many times it says so.
type result struct {
	value
	times int
}

// scope has the values of a call of a function, or of a pass of a loop.
type scope struct {
	names map[*js.Var]value
	outer *scope
}

func newScope(outer *scope) *scope { return &scope{make(map[*js.Var]value), outer} }

type function struct {
	scope  *scope
	params *js.Params
	body   *js.BlockStmt
}

// spend reports whether there is time for n steps.
func (r *reader) spend(n int) bool {
	r.steps -= n
	if r.steps < 0 {
		r.whole = false
	}
	return r.steps >= 0
}

// Enter notes which variables change.
func (r *reader) Enter(n js.INode) js.IVisitor {
	switch n := n.(type) {
	case *js.BinaryExpr:
		if slices.Contains(assigns, n.Op.String()) {
			r.change(n.X)
		}
	case *js.UnaryExpr:
		if n.Op >= js.PreIncrToken && n.Op <= js.PostDecrToken {
			r.change(n.X)
		}
	case *js.CallExpr:
		if dot, ok := n.X.(*js.DotExpr); ok && slices.Contains(mutators, dot.Y.String()) {
			r.change(dot.X)
		}
	}
	return r
}

// Exit does nothing.
func (r *reader) Exit(js.INode) {}

// change notes that the variables of an expression change.
func (r *reader) change(e js.IExpr) {
	switch e := e.(type) {
	case *js.Var:
		r.changed[declared(e)] = true
	case *js.DotExpr:
		r.change(e.X)
	case *js.IndexExpr:
		r.change(e.X)
	case *js.ArrayExpr:
		for _, x := range e.List {
			r.change(x.Value)
		}
	case *js.ObjectExpr:
		for _, x := range e.List {
			r.change(x.Value)
		}
	}
}

// declared returns the variable as it is declared.
func declared(v *js.Var) *js.Var {
	for v.Link != nil {
		v = v.Link
	}
	return v
}

// run reads statements. Functions are there before they are declared.
func (r *reader) run(list []js.IStmt) {
	for _, s := range list {
		if f, ok := s.(*js.FuncDecl); ok {
			r.bind(f.Name, r.define(&f.Params, &f.Body))
		}
	}
	for _, s := range list {
		r.eval(s)
	}
}

// each reads statements and expressions one after the other.
func (r *reader) each(list ...js.INode) {
	for _, n := range list {
		r.eval(n)
	}
}

// loop reads the body of a loop: once for each element of a list, or once if that is not known.
func (r *reader) loop(head js.IExpr, over value, body *js.BlockStmt) {
	each := []value{{}}
	if over.sort == aList {
		each = over.list
	}
	outer := r.scope
	for _, v := range each {
		if !r.spend(1) {
			break
		}
		r.scope = newScope(outer)
		switch head := head.(type) {
		case *js.VarDecl:
			r.match(head.List[0].Binding, v)
		case *js.Var:
			r.bind(head, v)
		}
		r.eval(body)
	}
	r.scope = outer
}

// take gives the names of an element of a pattern their values.
func (r *reader) take(e js.BindingElement, v value) {
	if e.Default != nil {
		if d := r.eval(e.Default); v.text == undefined.text && v.sort == aWord {
			v = d
		}
	}
	r.match(e.Binding, v)
}

// match gives the names of a pattern their values.
func (r *reader) match(pattern js.IBinding, v value) {
	if !r.spend(1) {
		return
	}
	switch p := pattern.(type) {
	case *js.Var:
		r.bind(p, v)
	case *js.BindingArray:
		for i, e := range p.List {
			r.take(e, v.element(i))
		}
	case *js.BindingObject:
		for _, item := range p.List {
			member := value{}
			if key := item.Key; key.Computed == nil {
				member = v.member(keyOf(key))
			}
			r.take(item.Value, member)
		}
	}
}

func (r *reader) bind(name *js.Var, v value) {
	if name = declared(name); r.changed[name] {
		v = value{}
	}
	r.scope.names[name] = v
}

func (r *reader) lookup(name *js.Var) value {
	name = declared(name)
	for s := r.scope; s != nil && r.spend(1); s = s.outer {
		if v, ok := s.names[name]; ok {
			return v
		}
	}
	if name.Decl == js.NoDecl {
		switch id := string(name.Data); id {
		case "tools":
			return value{sort: allTools}
		case "Promise", "Object", "String":
			return value{sort: aMethod, text: id}
		case "undefined":
			return undefined
		}
	}
	return value{}
}

func (r *reader) define(params *js.Params, body *js.BlockStmt) value {
	f := &function{r.scope, params, body}
	r.functions = append(r.functions, f)
	return value{sort: aFunction, fn: f}
}

// invoke runs a function with a list of arguments.
func (r *reader) invoke(f *function, args value) value {
	r.ran[f.body] = true
	if r.depth >= deepest {
		r.whole = false
		return value{}
	}
	outer, caller, own := r.scope, r.result, result{}
	r.depth++
	r.scope, r.result = newScope(f.scope), &own
	for i, p := range f.params.List {
		r.take(p, args.element(i))
	}
	r.run(f.body.List)
	r.depth--
	r.scope, r.result = outer, caller
	return own.value
}
