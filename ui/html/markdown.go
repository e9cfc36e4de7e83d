package html

import (
	"bytes"
	"fmt"
	"html/template"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/gomarkdown/markdown/ast"
	"github.com/gomarkdown/markdown/parser"
)

const markdown = parser.NoIntraEmphasis | parser.Tables | parser.FencedCode | parser.Autolink | parser.Strikethrough |
	parser.SpaceHeadings | parser.HardLineBreak | parser.NoEmptyLineBeforeBlock | parser.OrderedListStart

// prose renders the Markdown that users and models wrote. It never drops text: what the
// parser would omit, or would take too long to parse, is shown unrendered.
func (x *writer) prose(text []byte) (page template.HTML) {
	source := visible(text)
	defer func() {
		if recover() != nil { // a bug in the parser must not hide a conversation
			page = asIs(source)
		}
	}()
	if len(source) > maxProse {
		return asIs(source)
	}
	var b strings.Builder
	r := &proseRenderer{x: x, w: &b}
	for _, section := range sections(source) {
		if !x.affords(section) {
			b.WriteString(string(asIs(section)))
			continue
		}
		r.all(parser.NewWithExtensions(markdown).Parse([]byte(keepDefinitions(section))))
	}
	return template.HTML(b.String())
}

// sections cuts Markdown where every open block ends: before a line that begins with a
// letter and follows an empty line, outside of fenced code. The parser takes time
// quadratic in what follows a list.
func sections(s string) (list []string) {
	begin, at, empty := 0, 0, false
	var f fence
	for line := range strings.Lines(s) {
		if !f.next(line) && empty && (startsWord(line) || line[0] == '#') {
			list = append(list, s[begin:at])
			begin = at
		}
		empty = strings.TrimSpace(line) == ""
		at += len(line)
	}
	return append(list, s[begin:])
}

// fence follows fenced code through the lines of a text.
type fence struct{ mark string } // of the open block; "" outside of fenced code

// next takes the next line, and reports whether it is fenced code or a mark around it. For
// the parser, a closing mark is as long as the opening one, and nothing follows it.
func (f *fence) next(line string) bool {
	text := strings.TrimLeft(line, " \t>")
	mark := fenceMark().FindString(text)
	switch {
	case f.mark == "":
		f.mark = mark
		return mark != ""
	case mark == f.mark && strings.TrimSpace(text[len(mark):]) == "":
		f.mark = ""
	}
	return true
}

func startsWord(line string) bool {
	c, _ := utf8.DecodeRuneInString(line)
	return unicode.IsLetter(c)
}

func asIs(s string) template.HTML {
	return template.HTML("<pre>" + template.HTMLEscapeString(s) + "</pre>")
}

// Bounds on what is parsed. In the worst case the parser takes time quadratic in the
// length of a section, where a bracket counts as markWeight bytes: about 0.2 s for 32
// KiB of hostile text.
const (
	maxProse   = 512 << 10 // bytes of a text
	maxSection = 64 << 10  // bytes of a section
	maxTicks   = 8000      // in a section
	small      = 4 << 10   // bytes of a section that is always parsed
	maxSquares = 1e10      // of larger sections, on a page
	markWeight = 8
	maxNested  = 30 // the parser drops what is nested more deeply
)

// affords reports whether a section may be parsed, and charges its cost to the budget of
// the page.
func (x *writer) affords(section string) bool {
	size := len(section) + markWeight*(strings.Count(section, "[")+strings.Count(section, "<"))
	switch {
	case size > maxSection || strings.Count(section, "`") > maxTicks || deep().MatchString(section):
		return false
	case size <= small:
		return true
	}
	x.squares += float64(size) * float64(size)
	return x.squares <= maxSquares
}

// Compiled when the first page is written, not when the program starts.
var (
	deep = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(fmt.Sprintf(`(?m)^[ \t]*([>*+-][ \t]*){%d}|^[ \t]{%d,}([*+-]|\d+[.)])[ \t]`, maxNested, 2*maxNested))
	})
	definition = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^[ \t>]*\[[^\]\n]*\]:`) })
	fenceMark  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("^(```+|~~~+)") })
)

// keepDefinitions escapes the definitions of links, which Markdown does not show.
func keepDefinitions(s string) string {
	if !definition().MatchString(s) {
		return s
	}
	var b strings.Builder
	var f fence
	for line := range strings.Lines(s) {
		if !f.next(line) && definition().MatchString(line) {
			line = strings.Replace(line, "[", `\[`, 1)
		}
		b.WriteString(line)
	}
	return b.String()
}

// proseRenderer writes Markdown as inert HTML: HTML in the source is shown as text,
// images become links, and links lead only to the web or to mail addresses. Headings
// rank below those of the page.
type proseRenderer struct {
	x *writer
	w *strings.Builder
}

// text writes text from the parser. It is cleaned again because the parser has decoded
// entities.
func (r *proseRenderer) text(s []byte) { template.HTMLEscape(r.w, []byte(visible(s))) }

func (r *proseRenderer) all(n ast.Node) {
	for _, child := range n.GetChildren() {
		r.node(child)
	}
}

// within writes the children of a node, or its own text, between tags.
func (r *proseRenderer) within(begin string, n ast.Node, end string) {
	r.w.WriteString(begin)
	if leaf := n.AsLeaf(); leaf != nil {
		r.text(leaf.Literal)
	} else {
		r.all(n)
	}
	r.w.WriteString(end)
}

func (r *proseRenderer) node(n ast.Node) {
	switch n := n.(type) {
	case *ast.Text:
		r.text(n.Literal)
	case *ast.Hardbreak, *ast.Softbreak:
		if siblings := n.GetParent().GetChildren(); n != siblings[len(siblings)-1] {
			r.w.WriteString("<br>\n")
		}
	case *ast.NonBlockingSpace:
		r.w.WriteByte(' ')
	case *ast.HTMLSpan:
		r.text(n.Literal)
	case *ast.CodeBlock:
		language, _, _ := strings.Cut(strings.TrimSpace(string(n.Info)), " ")
		r.w.WriteString("<pre><code>" + string(r.x.code(language, n.Literal)) + "</code></pre>\n")
	case *ast.Link:
		r.link("", n, n.Destination, n.Title, "")
	case *ast.Image:
		r.link("[image: ", n, n.Destination, n.Title, "]")
	case *ast.HorizontalRule:
		r.w.WriteString("<hr>\n")
	default:
		begin, end := tagsOf(n)
		r.within(begin, n, end)
	}
}

func tagsOf(n ast.Node) (begin, end string) {
	switch n := n.(type) {
	case *ast.HTMLBlock:
		return `<p class="asis">`, "</p>\n"
	case *ast.Paragraph:
		if !isTight(n) {
			return "<p>", "</p>\n"
		}
	case *ast.Heading:
		tag := [...]string{"h4", "h5", "h6", "h6", "h6", "h6"}[min(max(n.Level, 1), 6)-1]
		return "<" + tag + ">", "</" + tag + ">\n"
	case *ast.BlockQuote:
		return "<blockquote>\n", "</blockquote>\n"
	case *ast.List:
		switch {
		case n.ListFlags&ast.ListTypeOrdered == 0:
			return "<ul>\n", "</ul>\n"
		case n.Start > 1:
			return fmt.Sprintf("<ol start=\"%d\">\n", n.Start), "</ol>\n"
		}
		return "<ol>\n", "</ol>\n"
	case *ast.ListItem:
		return "<li>", "</li>\n"
	case *ast.Code:
		return "<code>", "</code>"
	case *ast.Emph:
		return "<em>", "</em>"
	case *ast.Strong:
		return "<strong>", "</strong>"
	case *ast.Del:
		return "<del>", "</del>"
	case *ast.Table:
		return "<div class=\"wide\" tabindex=\"0\"><table>\n", "</table></div>\n"
	case *ast.TableHeader:
		return "<thead>", "</thead>\n"
	case *ast.TableBody:
		return "<tbody>", "</tbody>\n"
	case *ast.TableRow:
		return "<tr>", "</tr>\n"
	case *ast.TableCell:
		tag, align := "td", ""
		if n.IsHeader {
			tag = "th"
		}
		if s := n.Align.String(); s != "" {
			align = ` align="` + s + `"`
		}
		return "<" + tag + align + ">", "</" + tag + ">"
	}
	return "", ""
}

// isTight reports whether a paragraph begins an item of a list without blank lines.
func isTight(n *ast.Paragraph) bool {
	item, ok := n.Parent.(*ast.ListItem)
	if !ok || n != item.Children[0] {
		return false
	}
	list, ok := item.Parent.(*ast.List)
	return ok && list.Tight
}

// link writes a link with its title. An address that must not be linked to is shown as
// text.
func (r *proseRenderer) link(before string, n ast.Node, address, title []byte, after string) {
	if len(title) > 0 {
		after = " " + template.HTMLEscapeString(`"`+visible(title)+`"`) + after
	}
	u, err := url.Parse(string(address))
	if err == nil && (u.Scheme == "http" || u.Scheme == "https" || u.Scheme == "mailto") {
		r.within(before+`<a rel="noopener noreferrer nofollow" href="`+template.HTMLEscapeString(visible([]byte(u.String())))+`">`, n, "</a>"+after)
		return
	}
	r.within(before, n, "")
	if shown := n.GetChildren(); len(shown) != 1 || shown[0].AsLeaf() == nil || !bytes.Equal(shown[0].AsLeaf().Literal, address) {
		r.w.WriteString(" <code>")
		r.text(address)
		r.w.WriteString("</code>")
	}
	r.w.WriteString(after)
}
