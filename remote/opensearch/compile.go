package opensearch

import (
	"cmp"
	"path"
	"slices"
	"strings"
	"unicode"

	"pigrep/index/analysis"
	"pigrep/internal/lists"
	"pigrep/internal/session"
	"pigrep/internal/timespec"
	"pigrep/query/engine/filter"
	"pigrep/query/engine/literal"
	"pigrep/query/engine/rank"
	"pigrep/query/engine/syntax"
	"pigrep/query/engine/words"
	"pigrep/remote"
	"pigrep/scope"
)

// A query is compiled to one of OpenSearch that every hit matches. It may match more: which
// parts are hits is decided where their lines are read. So a clause that the engine does not
// have is left out, and nil stands for "everything". A negated clause may be left out only as
// a whole, and may be sent only if the engine means the same by it.

// object is JSON.
type object = map[string]any

func term(field string, value any) object { return object{"term": object{field: value}} }

// equal is term in any case.
func equal(field, value string) object {
	return object{"term": object{field: object{"value": value, "case_insensitive": true}}}
}

// like matches keywords and terms by a pattern, in any case.
func like(field, pattern string) object {
	return object{"wildcard": object{field: object{"value": pattern, "case_insensitive": true}}}
}

// literally escapes a text for like.
func literally(text string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`).Replace(text)
}

// without matches what has no field.
func without(field string) object {
	return object{"bool": object{"must_not": object{"exists": object{"field": field}}}}
}

// by orders by a field of a type, which an index without documents may not have.
func by(field, kind string) object {
	return object{field: object{"order": "asc", "unmapped_type": kind}}
}

func isNothing(c object) bool { return c == nil }

// all is the conjunction of clauses; nil if there is none.
func all(clauses ...object) object {
	clauses = slices.DeleteFunc(clauses, isNothing)
	switch len(clauses) {
	case 0:
		return nil
	case 1:
		return clauses[0]
	}
	return object{"bool": object{"filter": clauses}}
}

// either is the disjunction of clauses, and nil if one of them is.
func either(clauses ...object) object {
	if len(clauses) == 0 || slices.ContainsFunc(clauses, isNothing) {
		return nil
	}
	if len(clauses) == 1 {
		return clauses[0]
	}
	return object{"bool": object{"should": clauses, "minimum_should_match": 1}}
}

func eitherOf[T ~string](values []T, clause func(string) object) object {
	return either(lists.Map(values, func(v T) object { return clause(string(v)) })...)
}

// oneOf matches a field that is one of some values, in any case.
func oneOf[T ~string](field string, values []T) object {
	return eitherOf(values, func(v string) object { return equal(field, v) })
}

// compiled is a question as OpenSearch understands it.
type compiled struct {
	sessions object   // tests what parts and states have
	parts    object   // tests what only parts have; nil for nothing
	scored   object   // a part of parts that also ranks
	lines    bool     // all lines that the answer needs have such parts
	terms    []string // that were typed, in parts
}

// query is what parts that pass more clauses match.
func (c *compiled) query(more ...object) object {
	filter := slices.DeleteFunc(append(more, c.parts), isNothing)
	b := object{"filter": filter}
	if c.scored != nil {
		b["must"] = c.scored
	}
	return object{"bool": b}
}

// compile compiles a question. A loose one is for when nothing is found otherwise.
func compile(q *Question, loose bool) compiled {
	s := &q.Spec
	c := compiled{sessions: all(
		named(q.Names), named(s.Sessions), oneOf("agent", s.Agents), projects(s.Projects), below(s.CWD),
	)}
	if q.Brief && q.Text == "" { // no part decides: summaries do
		return c
	}
	since, until := millis(s.Since), millis(s.Until)
	filters := []object{
		oneOf("role", s.Roles), oneOf("tool", s.Tools), eitherOf(s.Models, model), times(since, until),
	}
	if s.Error {
		filters = append(filters, term("error", true))
	}
	if q.Text != "" || q.Required != nil || len(s.Kinds) > 0 || s.Scope != "" {
		filters = append(filters, kinds(s))
	}
	if q.Required != nil {
		found := required(q.Required)
		filters, c.lines = append(filters, found), found != nil
	}
	c.parts = all(filters...)
	if root, _ := syntax.Parse(q.Text); root != nil {
		w := &wording{env: q.Env, loose: loose, longer: loose || q.Wanted == 0}
		c.scored, c.terms = w.node(root), w.terms
		c.lines = c.scored != nil
	}
	return c
}

func kinds(s *filter.Spec) object {
	kinds := s.Kinds
	if len(kinds) == 0 && s.Scope != scope.All {
		kinds = cmp.Or(s.Scope, scope.Default).KindsOf()
	}
	if len(kinds) == 0 {
		return nil
	}
	return object{"terms": object{"kind": kinds}}
}

// times matches parts of a time; 0 for no bound.
func times(since, until int64) object {
	return all(within("time", "gte", since), within("time", "lte", until))
}

// within matches what has a number within a bound; 0 for none.
func within(field, side string, bound int64) object {
	if bound == 0 {
		return nil
	}
	return object{"range": object{field: object{side: bound}}}
}

// named are sessions by their ids, the beginnings or ends of these, or their paths.
func named(names []string) object {
	return eitherOf(names, func(v string) object {
		if host, p, ok := remote.Split(v); ok {
			return term("file_key", keyOf(host, p))
		}
		id := literally(strings.TrimSuffix(session.BaseName(v), session.Extension))
		return either(like("session", id+"*"), like("session", "*"+id), without("session"))
	})
}

func projects(values []string) object {
	return eitherOf(values, func(v string) object {
		v = strings.TrimRight(session.Slashed(v), "/")
		names := []string{v}
		if strings.HasPrefix(v, "/") {
			names = filter.NewDirectory(v).Names
		}
		return either(append(lists.Map(names, func(name string) object { return equal("cwd", name) }), like("cwd", "*/"+literally(strings.TrimLeft(v, "/"))))...)
	})
}

func below(dir string) object {
	if dir = strings.TrimRight(session.Slashed(dir), "/"); dir == "" {
		return nil
	}
	return eitherOf(filter.NewDirectory(dir).Names, func(name string) object { return object{"match": object{"cwd.tree": name}} })
}

// model matches a part of the name of a model, or of provider/model.
func model(v string) object {
	if _, name, both := strings.Cut(v, "/"); both {
		return like("model", "*"+literally(name)+"*")
	}
	return either(like("model", "*"+literally(v)+"*"), like("provider", "*"+literally(v)+"*"))
}

// wording compiles the text of a query.
type wording struct {
	env    filter.Env
	loose  bool     // also typing errors, and identifiers of which only one piece is there
	longer bool     // also words that begin with a word
	terms  []string // that were typed
}

func (w *wording) node(n syntax.Node) object {
	switch n := n.(type) {
	case *syntax.Group:
		switch n.Op {
		case syntax.And:
			return w.every(n.Items)
		case syntax.Or:
			return either(lists.Map(n.Items, w.node)...)
		}
		return w.list(n.Items)
	case *syntax.Must:
		return w.node(n.Item)
	case *syntax.Not:
		return w.not(n.Item)
	case *syntax.Term:
		return w.word(n)
	case *syntax.Field:
		return w.field(n)
	}
	return nil
}

// every is the conjunction of nodes, which also ranks.
func (w *wording) every(items []syntax.Node) object {
	must := slices.DeleteFunc(lists.Map(items, w.node), isNothing)
	if len(must) == 0 {
		return nil
	}
	return object{"bool": object{"must": must}}
}

// list is nodes side by side: fields and marked nodes are required, and of the others one.
func (w *wording) list(items []syntax.Node) object {
	var must, should []object
	open := false // a word that the engine does not have may be the one
	for _, item := range items {
		c := w.node(item)
		switch item.(type) {
		case *syntax.Must, *syntax.Field, *syntax.Not:
			if c != nil {
				must = append(must, c)
			}
		default:
			if open = open || c == nil; c != nil {
				should = append(should, c)
			}
		}
	}
	if len(must)+len(should) == 0 {
		return nil
	}
	b := object{}
	if len(must) > 0 {
		b["must"] = must
	}
	if len(should) > 0 {
		b["should"] = should
		if len(should) > 1 && !open {
			b["should"] = append(slices.Clone(should), object{"constant_score": object{"filter": all(should...), "boost": wholeBoost}})
		}
		if !open && !slices.ContainsFunc(items, func(n syntax.Node) bool { _, ok := n.(*syntax.Must); return ok }) {
			b["minimum_should_match"] = 1
		}
	}
	return object{"bool": b}
}

// not leaves out what a node matches, if the engine means the same by it.
func (w *wording) not(n syntax.Node) object {
	var c object
	switch n := n.(type) {
	case *syntax.Term:
		if w := words.Analyse(n); w != nil && w.Match == syntax.Literal && w.Term != "" && len(w.Parts) == 0 && !w.Joined {
			c = has(w.Term)
		}
	case *syntax.Field:
		if slices.Contains([]string{"kind", "role", "tool", "agent"}, n.Name) {
			c = w.field(n)
		}
	}
	if c == nil {
		return nil
	}
	return object{"bool": object{"must_not": c}}
}

// word matches parts with a word in any of its tiers.
func (x *wording) word(n *syntax.Term) object {
	w := words.Analyse(n)
	if w == nil {
		return nil
	}
	var clauses []object
	if w.Term != "" {
		x.terms = append(x.terms, w.Term)
		clauses = append(clauses, eitherOf(append([]string{w.Term}, w.Spellings...), has))
	}
	switch {
	case w.Term == "":
	case w.Match == syntax.Prefix:
		clauses = append(clauses, begins(w.Term, 1))
	case w.Match == syntax.Fuzzy:
		clauses = append(clauses, object{"fuzzy": object{"terms": object{"value": w.Term, "fuzziness": w.Edits}}})
	case w.Loose:
		if forms := words.Forms(w.Term); len(forms) > 0 { // one clause: most of them are in no text
			clauses = append(clauses, object{"terms": object{"terms": forms, "boost": formsBoost}})
		}
		if x.longer && len(w.Term) >= leastPiece {
			clauses = append(clauses, begins(w.Term, 0.1))
		}
		if x.loose {
			clauses = append(clauses, object{"fuzzy": object{"terms": object{"value": w.Term, "fuzziness": "AUTO:4,8"}}})
		}
	}
	if len(w.Parts) > 0 {
		clauses = append(clauses, x.parts(w))
	}
	if w.Match == syntax.Literal && len(w.Text) >= leastID && rank.IsID(w.Text) && isNumbered(w.Text) {
		id := literally(w.Text)
		clauses = append(clauses, like("session", id+"*"), like("session", "*"+id), like("entry", id+"*"))
	}
	return either(slices.DeleteFunc(clauses, isNothing)...)
}

// formsBoost is the score of a part with another form of a word.
const formsBoost = 3

// isNumbered reports whether a text has a digit, or could be a hexadecimal number.
func isNumbered(text string) bool {
	return strings.ContainsAny(text, "0123456789") || strings.Trim(strings.ToLower(text), "abcdef-") == ""
}

// leastID is the length from which a word may be a part of an id.
const leastID = 6

// parts matches parts with the pieces of a compound: all of a phrase, which ranks higher where
// they stand together, and usually all but one of an identifier.
func (x *wording) parts(w *words.Word) object {
	each := make([]object, len(w.Parts))
	for i := range w.Parts {
		x.terms = append(x.terms, w.TermsOf(i)...)
		each[i] = eitherOf(w.TermsOf(i), has)
	}
	if w.Match == syntax.Literal {
		least := max(len(each)-1, min(len(each), 2))
		if x.loose {
			least = 1
		}
		return object{"bool": object{"should": each, "minimum_should_match": least}}
	}
	together := object{"match_phrase": object{"terms": strings.Join(w.Parts, " ")}}
	return object{"bool": object{"must": each, "should": []object{together}}}
}

// has matches parts with a term of ours, and ranks those.
func has(t string) object { return term("terms", t) }

// begins matches parts with terms that begin with a text.
func begins(text string, boost float64) object {
	return object{"prefix": object{"terms": object{"value": text, "boost": boost}}}
}

func (w *wording) field(n *syntax.Field) object {
	values := n.Values()
	switch n.Name {
	case "kind":
		return eitherOf(values, func(v string) object { return term("kind", strings.ToLower(v)) })
	case "role", "tool", "agent":
		return oneOf(n.Name, values)
	case "model":
		return eitherOf(values, model)
	case "session":
		return named(values)
	case "project":
		return projects(values)
	case "cwd":
		if w.env.Expand != nil {
			return below(w.env.Expand(n.Value))
		}
		return below(n.Value)
	case "after", "before":
		span, err := timespec.Parse(n.Value, w.env.Now)
		switch {
		case err != nil:
			return nil
		case n.Name == "after":
			return times(millis(span.Start), 0)
		}
		return times(0, millis(span.Start)-1)
	case "is":
		if n.Value == "error" {
			return term("error", true)
		}
	case "file":
		return whole(path.Base(strings.TrimRight(session.Slashed(n.Value), "/")))
	case "cmd":
		return whole(n.Value)
	case "re":
		if p, err := literal.Compile([]string{n.Value}, literal.Options{Multiline: true}); err == nil {
			return required(p.Required)
		}
	}
	return nil // title, label, branch: they are tested where the lines are read
}

// leastPiece is the length from which a piece of a word is looked up.
const leastPiece = 3

const plain = "abcdefghijklmnopqrstuvwxyz0123456789"

// required matches parts with the strings that every match of an expression contains, or with
// words of which the engine does not have the end.
func required(r *literal.Required) object {
	found := literal.Fold(r, func(texts []string) object { return eitherOf(texts, containing) }, func(c []object) object { return all(c...) }, func(c []object) object { return either(c...) })
	return either(found, has(cutTerm))
}

// whole matches parts with all terms of a text, in any case.
func whole(text string) object {
	return all(lists.Map(filter.TermsIn(new(analysis.Analyzer), text), has)...)
}

// containing matches parts that may contain a text, anywhere in their words: a word of the text
// may be a piece of one in the part.
func containing(text string) object {
	var clauses []object
	for _, piece := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return r < 0x80 && !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' }) {
		piece = strings.ReplaceAll(piece, "_", "")
		if len(piece) >= leastPiece && strings.Trim(piece, plain) == "" { // every text with it has it in one term
			clauses = append(clauses, object{"wildcard": object{"terms": "*" + piece[:min(len(piece), 32)] + "*"}})
		}
	}
	return all(clauses...)
}
