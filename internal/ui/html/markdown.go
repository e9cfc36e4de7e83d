package html

import (
	"bytes"
	"html/template"
	"net/url"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/util"
)

// Prose that is larger, has more links, or is nested deeper than people write is shown as
// it is: the time to parse some of it grows with the square of its length.
const (
	maxProse   = 512 << 10
	maxLinks   = 4000
	maxNesting = 100
)

// prose renders what users and models wrote as Markdown.
func (x *writer) prose(text []byte) template.HTML {
	source := []byte(visible(text))
	asIs := "<pre>" + template.HTML(template.HTMLEscapeString(string(source))) + "</pre>"
	if len(source) > maxProse || bytes.Count(source, []byte("](")) > maxLinks || isNested(source) {
		return asIs
	}
	var b bytes.Buffer
	if err := goldmark.New(
		// Without its transformers of paragraphs, which remove the definitions of links.
		goldmark.WithParser(parser.NewParser(parser.WithBlockParsers(parser.DefaultBlockParsers()...), parser.WithInlineParsers(parser.DefaultInlineParsers()...))),
		goldmark.WithExtensions(
			extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute)),
			extension.Strikethrough, extension.TaskList, extension.Linkify,
		),
		goldmark.WithRendererOptions(html.WithHardWraps(), renderer.WithNodeRenderers(util.Prioritized(&safeRenderer{x}, 1))),
	).Convert(source, &b); err != nil {
		return asIs
	}
	return template.HTML(b.String())
}

// isNested reports whether a line begins with more marks than people write.
func isNested(source []byte) bool {
	for line := range bytes.Lines(source) {
		n := 0
		for _, c := range line {
			if c != '>' && c != '[' && c != '*' && c != '_' && c != '-' && c != '+' && c != ' ' && c != '!' && c != '<' && c != '(' {
				break
			}
			if c != ' ' {
				n++
			}
		}
		if n > maxNesting {
			return true
		}
	}
	return false
}

// safeRenderer renders the nodes of Markdown that could make a page do something: HTML is
// shown as text, pictures are links, and links only go to the web or an address of mail.
// Headings begin below those of the page.
type safeRenderer struct{ x *writer }

func (r *safeRenderer) RegisterFuncs(reg renderer.NodeRendererFuncRegisterer) {
	reg.Register(ast.KindRawHTML, r.rawHTML)
	reg.Register(ast.KindHTMLBlock, r.htmlBlock)
	reg.Register(ast.KindLink, r.link)
	reg.Register(ast.KindImage, r.image)
	reg.Register(ast.KindAutoLink, r.autoLink)
	reg.Register(ast.KindHeading, r.heading)
	reg.Register(ast.KindFencedCodeBlock, r.fenced)
	reg.Register(ast.KindCodeBlock, r.indented)
	reg.Register(east.KindTable, r.table)
}

func (r *safeRenderer) rawHTML(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		for _, s := range n.(*ast.RawHTML).Segments.Sliced(0, n.(*ast.RawHTML).Segments.Len()) {
			_, _ = w.Write(util.EscapeHTML(s.Value(source)))
		}
	}
	return ast.WalkSkipChildren, nil
}

func (r *safeRenderer) htmlBlock(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	block := n.(*ast.HTMLBlock)
	if entering {
		_, _ = w.WriteString("<p class=\"asis\">")
		writeLines(w, source, n)
		if block.HasClosure() {
			_, _ = w.Write(util.EscapeHTML(block.ClosureLine.Value(source)))
		}
		_, _ = w.WriteString("</p>\n")
	}
	return ast.WalkSkipChildren, nil
}

func writeLines(w util.BufWriter, source []byte, n ast.Node) {
	for i := range n.Lines().Len() {
		line := n.Lines().At(i)
		_, _ = w.Write(util.EscapeHTML(line.Value(source)))
	}
}

// linkTo is the tag that begins a link; "" if the address is not one to link to.
func linkTo(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "mailto" {
		return ""
	}
	return `<a rel="noopener noreferrer nofollow" href="` + template.HTMLEscapeString(u.String()) + `">`
}

func (r *safeRenderer) link(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	r.target(w, string(n.(*ast.Link).Destination), entering)
	return ast.WalkContinue, nil
}

func (r *safeRenderer) image(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		_, _ = w.WriteString("[image: ")
	} else {
		_, _ = w.WriteString("]")
	}
	r.target(w, string(n.(*ast.Image).Destination), entering)
	return ast.WalkContinue, nil
}

// target links the text of a node to an address, or writes the address behind it.
func (r *safeRenderer) target(w util.BufWriter, address string, entering bool) {
	begin := linkTo(address)
	switch {
	case entering:
		_, _ = w.WriteString(begin)
	case begin != "":
		_, _ = w.WriteString("</a>")
	default:
		_, _ = w.WriteString(" <code>" + template.HTMLEscapeString(address) + "</code>")
	}
}

func (r *safeRenderer) autoLink(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		link := n.(*ast.AutoLink)
		address := string(link.URL(source))
		if link.AutoLinkType == ast.AutoLinkEmail && !strings.HasPrefix(strings.ToLower(address), "mailto:") {
			address = "mailto:" + address
		}
		begin := linkTo(address)
		_, _ = w.WriteString(begin)
		_, _ = w.Write(util.EscapeHTML(link.Label(source)))
		if begin != "" {
			_, _ = w.WriteString("</a>")
		}
	}
	return ast.WalkSkipChildren, nil
}

func (r *safeRenderer) heading(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	tag := "h" + string("456666"[n.(*ast.Heading).Level-1]) + ">"
	if entering {
		_, _ = w.WriteString("<" + tag)
	} else {
		_, _ = w.WriteString("</" + tag + "\n")
	}
	return ast.WalkContinue, nil
}

func (r *safeRenderer) fenced(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		r.code(w, source, n, string(n.(*ast.FencedCodeBlock).Language(source)))
	}
	return ast.WalkSkipChildren, nil
}

func (r *safeRenderer) indented(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		r.code(w, source, n, "")
	}
	return ast.WalkSkipChildren, nil
}

func (r *safeRenderer) code(w util.BufWriter, source []byte, n ast.Node, language string) {
	var text []byte
	for i := range n.Lines().Len() {
		line := n.Lines().At(i)
		text = append(text, line.Value(source)...)
	}
	_, _ = w.WriteString("<pre><code>" + string(r.x.code(language, text)) + "</code></pre>\n")
}

func (r *safeRenderer) table(w util.BufWriter, _ []byte, _ ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		_, _ = w.WriteString("<div class=\"wide\" tabindex=\"0\"><table>\n")
	} else {
		_, _ = w.WriteString("</table></div>\n")
	}
	return ast.WalkContinue, nil
}
