package html

import (
	"fmt"
	"html/template"
	"net/url"
	"slices"
	"strings"

	"pigrep/ui/markdown"
)

// maxProse is how many bytes of a text are read as Markdown.
const maxProse = 512 << 10

// prose renders the Markdown that users and models wrote as inert HTML: HTML in the source is
// shown as text, images become links, and links lead only to the web or to mail addresses.
// Headings rank below the headings of the page.
func (x *writer) prose(text []byte) template.HTML {
	source := visible(text)
	if len(source) > maxProse {
		return template.HTML("<pre>" + template.HTMLEscapeString(source) + "</pre>")
	}
	d := &prose{x: x}
	markdown.Read(source, d)
	d.leave(0)
	return template.HTML(d.b.String())
}

// prose draws Markdown as HTML. Lines become paragraphs, and margins become lists and quotes
// that are open.
type prose struct {
	x     *writer
	b     strings.Builder
	open  []container
	going bool   // the next line may go on with the text that is open
	end   string // ends that text
	blank bool   // the line before was blank
}

// container is a quote, or a list with its last item open.
type container struct {
	tag    string // blockquote, ul or ol
	column int    // of the markers of a list
}

// maxOpen is how many containers are nested; deeper ones stand side by side.
const maxOpen = 30

func (d *prose) Blank() { d.blank = true }

// leave closes the paragraph, and all but the outermost n containers.
func (d *prose) leave(n int) {
	d.b.WriteString(d.end)
	d.going, d.end = false, ""
	for ; len(d.open) > n; d.open = d.open[:len(d.open)-1] {
		if c := d.open[len(d.open)-1]; c.tag == "blockquote" {
			d.b.WriteString("</blockquote>\n")
		} else {
			d.b.WriteString("</li>\n</" + c.tag + ">\n")
		}
	}
}

// enterContainers opens and closes containers, until the open ones are the containers of the margin. It
// reports whether a paragraph goes on.
func (d *prose) enterContainers(m markdown.Margin, isText bool) (goesOn bool) {
	quotes := 0
	for quotes < len(d.open) && d.open[quotes].tag == "blockquote" {
		quotes++
	}
	if want := min(m.Quotes, maxOpen/2); want != quotes {
		d.leave(min(want, quotes))
		for ; quotes < want; quotes++ {
			d.b.WriteString("<blockquote>\n")
			d.open = append(d.open, container{tag: "blockquote"})
		}
	}
	lists := func() bool { return len(d.open) > 0 && d.open[len(d.open)-1].tag != "blockquote" }
	if len(m.Marks) == 0 {
		if isText && !d.blank && d.going {
			return true
		}
		for (d.blank || !isText) && lists() && m.Column <= d.open[len(d.open)-1].column {
			d.leave(len(d.open) - 1)
		}
		d.leave(len(d.open))
	}
	for _, mark := range m.Marks {
		d.item(mark, lists)
	}
	d.blank = false
	return false
}

func (d *prose) item(mark markdown.Mark, inList func() bool) {
	const nested = 2 // columns from which on a list is within an item
	tag, begin := "ul", "<ul>"
	if mark.Ordered {
		if tag, begin = "ol", "<ol>"; mark.Start > 1 {
			begin = fmt.Sprintf("<ol start=\"%d\">", mark.Start)
		}
	}
	top := func() container { return d.open[len(d.open)-1] }
	for inList() && (top().column > mark.Column || top().tag != tag && mark.Column < top().column+nested) {
		d.leave(len(d.open) - 1)
	}
	d.leave(len(d.open))
	if inList() && (mark.Column < top().column+nested || len(d.open) >= maxOpen) {
		d.b.WriteString("</li>\n")
	} else {
		d.b.WriteString(begin + "\n")
		d.open = append(d.open, container{tag, mark.Column})
	}
	d.b.WriteString("<li>" + mark.Task)
	d.going = true
}

func (d *prose) Text(m markdown.Margin, level int, runs []markdown.Run) {
	fresh := !d.enterContainers(m, level == 0)
	if len(runs) == 1 && runs[0].Text == "" && len(m.Marks) == 0 { // a quotation goes on
		d.leave(len(d.open))
		d.blank = true
		return
	}
	if level > 0 {
		d.leave(len(d.open))
		tag := [...]string{"h4", "h5", "h6", "h6", "h6", "h6"}[level-1]
		d.b.WriteString("<" + tag + ">")
		d.runs(runs)
		d.b.WriteString("</" + tag + ">\n")
		return
	}
	switch {
	case !fresh:
		d.b.WriteString("<br>\n")
	case !d.going: // else it is the first text of an item
		d.b.WriteString("<p>")
		d.going, d.end = true, "</p>\n"
	}
	if len(d.open) == 0 { // of what was pasted
		d.b.WriteString(strings.Repeat("\u00a0", m.Indent))
	}
	d.runs(runs)
}

// block writes a piece that is not text.
func (d *prose) block(m markdown.Margin, html string) {
	d.enterContainers(m, false)
	d.leave(len(d.open))
	d.b.WriteString(html)
}

func (d *prose) Rule(m markdown.Margin) { d.block(m, "<hr>\n") }

func (d *prose) Code(m markdown.Margin, lines []string, language string) {
	d.block(m, "<pre><code>"+string(d.x.code(language, []byte(strings.Join(lines, "\n"))))+"</code></pre>\n")
}

func (d *prose) Fits(markdown.Margin, int) bool { return true }

func (d *prose) Table(m markdown.Margin, t *markdown.Table) {
	d.block(m, "<div class=\"wide\" tabindex=\"0\"><table>\n<thead>")
	for i, row := range t.Rows {
		tag := "td"
		if i == 0 {
			tag = "th"
		}
		d.b.WriteString("<tr>")
		for k, cell := range row {
			d.b.WriteString("<" + tag + [...]string{"", ` align="right"`, ` align="center"`}[t.Align[k]] + ">")
			d.runs(cell)
			d.b.WriteString("</" + tag + ">")
		}
		d.b.WriteString("</tr>\n")
		if i == 0 {
			d.b.WriteString("</thead>\n<tbody>")
		}
	}
	d.b.WriteString("</tbody>\n</table></div>\n")
}

// runs writes the text of a line. It is cleaned again because entities were decoded.
func (d *prose) runs(list []markdown.Run) {
	for n := 0; len(list) > 0; list = list[n:] {
		if n = 1; list[0].URL == "" {
			d.run(list[0])
			continue
		}
		for n < len(list) && list[n].URL == list[0].URL {
			n++
		}
		said := n < len(list) && list[n].Style&markdown.Faint != 0 // its address stands behind it
		d.link(list[:n], said)
		if said {
			n++
		}
	}
}

// link writes a link, if its address is said, with its title. An address that must not be linked
// to is shown as text.
func (d *prose) link(text []markdown.Run, said bool) {
	address := text[0].URL
	if text[0].Image {
		d.b.WriteString("[image: ")
	}
	u, err := url.Parse(address)
	linked := err == nil && slices.Contains([]string{"http", "https", "mailto"}, u.Scheme)
	if linked {
		d.b.WriteString(`<a rel="noopener noreferrer nofollow" href="` + escaped(u.String()) + `">`)
	}
	for _, r := range text {
		d.run(r)
	}
	if linked {
		d.b.WriteString("</a>")
	} else if said {
		d.b.WriteString(" <code>" + escaped(address) + "</code>")
	}
	if said && text[0].Title != "" {
		d.b.WriteString(" " + escaped(text[0].Title))
	}
	if text[0].Image {
		d.b.WriteString("]")
	}
}

func escaped(text string) string { return template.HTMLEscapeString(visible([]byte(text))) }

func (d *prose) run(r markdown.Run) {
	end := ""
	for _, s := range []struct {
		style markdown.Style
		tag   string
	}{{markdown.Bold, "strong"}, {markdown.Italic, "em"}, {markdown.Strike, "del"}, {markdown.Code, "code"}} {
		if r.Style&s.style != 0 {
			d.b.WriteString("<" + s.tag + ">")
			end = "</" + s.tag + ">" + end
		}
	}
	d.b.WriteString(escaped(r.Text) + end)
}
