package printer

import (
	"fmt"
	"html"
	"io"
	"regexp"
	"strings"

	"pigrep/internal/human"
	"pigrep/internal/session"
	"pigrep/internal/terminal"
	"pigrep/query/entry"
)

// A page needs nothing but itself: no script, no network. The policy in its head
// makes a browser hold what the escaping promises.
const pageHead = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>%s</title>
<style>
:root { color-scheme: light dark; --ink: #1d1f21; --dim: #6b7075; --line: #d9dcdf; --paper: #fff; --soft: #f5f6f7; --prompt: #1a7f37; --reply: #0969da; --call: #9a6700; --bad: #cf222e; }
@media (prefers-color-scheme: dark) { :root { --ink: #d8dadc; --dim: #8d949b; --line: #3a3f44; --paper: #16181a; --soft: #1f2326; --prompt: #57ab5a; --reply: #539bf5; --call: #c69026; --bad: #f47067; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 56rem; padding: 2rem 1rem 4rem; background: var(--paper); color: var(--ink); font: 16px/1.55 system-ui, sans-serif; }
h1 { font-size: 1.5rem; line-height: 1.3; margin: 0 0 .5rem; overflow-wrap: anywhere; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; margin: 0 0 2rem; color: var(--dim); font-size: .85rem; }
dd { margin: 0; overflow-wrap: anywhere; }
article { border-top: 1px solid var(--line); padding: .8rem 0; }
article:target { outline: 2px solid var(--reply); outline-offset: .3rem; }
article.abandoned { opacity: .6; }
header.entry { font-size: .8rem; color: var(--dim); margin-bottom: .3rem; }
header.entry b { font-size: .9rem; margin-right: .5rem; color: var(--ink); }
.prompt > header b { color: var(--prompt); } .reply > header b { color: var(--reply); } .error > header b { color: var(--bad); }
a { color: inherit; text-decoration: none; } a:hover { text-decoration: underline; }
.text { white-space: pre-wrap; overflow-wrap: anywhere; margin: .3rem 0; }
.text b.h { display: inline-block; margin-top: .4rem; }
pre, code { font: .85em/1.5 ui-monospace, monospace; }
pre { background: var(--soft); border-radius: 6px; padding: .6rem .8rem; margin: .4rem 0; overflow-x: auto; white-space: pre-wrap; overflow-wrap: anywhere; }
code { background: var(--soft); border-radius: 3px; padding: 0 .2em; }
pre code { padding: 0; }
.call { margin: .4rem 0; } .call > b { color: var(--call); font: .85em ui-monospace, monospace; }
.nested { margin-left: 1.5rem; }
.bad { color: var(--bad); }
details { margin: .3rem 0; } summary { cursor: pointer; color: var(--dim); font-size: .85rem; }
img { max-width: 100%%; height: auto; border: 1px solid var(--line); border-radius: 6px; }
</style>
</head>
<body>
`

// openLines is how long a result may be to be shown unfolded.
const openLines = 12

func exportHTML(w io.Writer, s *Show) error {
	var b strings.Builder
	name := html.EscapeString(title(s.Session.Name, s.Session.FirstPrompt))
	fmt.Fprintf(&b, pageHead, name)
	fmt.Fprintf(&b, "<h1>%s</h1>\n<dl>\n", name)
	for _, f := range exportFacts(&s.Session) {
		fmt.Fprintf(&b, "<dt>%s</dt><dd>%s</dd>\n", f[0], html.EscapeString(f[1]))
	}
	b.WriteString("</dl>\n<main>\n")
	if _, err := io.WriteString(w, b.String()); err != nil {
		return err
	}
	names := anchors{}
	for e, err := range s.Entries {
		if err != nil {
			return err
		}
		b.Reset()
		htmlEntry(&b, e, names.of(e.ID), s.Branches)
		if _, err := io.WriteString(w, b.String()); err != nil {
			return err
		}
	}
	_, err := io.WriteString(w, "</main>\n</body>\n</html>\n")
	return err
}

func htmlEntry(b *strings.Builder, e *entry.Entry, anchor string, branches bool) {
	classes := []string{}
	switch {
	case e.Role == session.RoleUser:
		classes = append(classes, "prompt")
	case e.Role == session.RoleAssistant:
		classes = append(classes, "reply")
	}
	if e.IsError {
		classes = append(classes, "error")
	}
	if branches && e.Branch == entry.BranchAbandoned {
		classes = append(classes, "abandoned")
	}
	fmt.Fprintf(b, "<article id=\"%s\" class=\"%s\">\n<header class=\"entry\"><b>%s</b>%s · <a href=\"#%s\">%s</a></header>\n",
		anchor, strings.Join(classes, " "), html.EscapeString(entryTitle(e)),
		html.EscapeString(strings.Join(entryNotes(e, branches), " · ")), anchor, html.EscapeString(terminal.Clean(e.ID)))
	for i := range e.View.Blocks {
		htmlBlock(b, e, &e.View.Blocks[i])
	}
	b.WriteString("</article>\n")
}

func htmlBlock(b *strings.Builder, e *entry.Entry, block *session.Block) {
	switch {
	case block.Call != nil:
		htmlCall(b, block.Call)
	case block.Shell != nil:
		sh := block.Shell
		fmt.Fprintf(b, "<pre><code>$ %s</code></pre>\n", html.EscapeString(tidy([]byte(sh.Command))))
		htmlOutput(b, "output", block.Text, e.IsError)
		if sh.Cancelled {
			b.WriteString("<p class=\"bad\">cancelled</p>\n")
		} else if sh.HasExit && sh.ExitCode != 0 {
			fmt.Fprintf(b, "<p class=\"bad\">exit %d</p>\n", sh.ExitCode)
		}
	case block.Image != nil:
		if isShownImage(block.Image) {
			fmt.Fprintf(b, "<p><img alt=\"%s\" src=\"data:%s;base64,%s\"></p>\n",
				html.EscapeString(imageText(block.Image)), block.Image.MimeType, block.Image.Base64)
		} else {
			fmt.Fprintf(b, "<p>%s</p>\n", html.EscapeString(imageText(block.Image)))
		}
		if len(block.Text) > 0 {
			htmlProse(b, block.Text)
		}
	case block.Kind == session.KindError:
		fmt.Fprintf(b, "<div class=\"text bad\">%s</div>\n", html.EscapeString(tidy(block.Text)))
	case block.Kind == session.KindThinking:
		b.WriteString("<details><summary>thinking</summary>\n")
		htmlProse(b, block.Text)
		b.WriteString("</details>\n")
	case isProse(block.Kind) && e.Role != session.RoleToolResult:
		htmlProse(b, block.Text)
	case isRemark(block):
		fmt.Fprintf(b, "<div class=\"text\">%s</div>\n", html.EscapeString(terminal.Clean(string(block.Text))))
	case block.Kind == session.KindResult:
		htmlOutput(b, "result", block.Text, e.IsError)
	default:
		htmlOutput(b, string(block.Kind), block.Text, false)
	}
}

func htmlCall(b *strings.Builder, c *session.Call) {
	class := "call"
	if c.Nested {
		class += " nested"
	}
	fmt.Fprintf(b, "<div class=\"%s\"><b>%s</b>\n", class, html.EscapeString(terminal.Clean(c.Tool)))
	command, ok := commandOf(c)
	if ok {
		fmt.Fprintf(b, "<pre><code>$ %s</code></pre>\n", html.EscapeString(tidy([]byte(command))))
	}
	for _, a := range c.Arguments {
		if ok && a.Text && string(a.Value) == command {
			ok = false
			continue
		}
		value := html.EscapeString(strings.Trim(tidy(a.Value), "\n"))
		if strings.Contains(value, "\n") {
			fmt.Fprintf(b, "<div><code>%s</code><pre>%s</pre></div>\n", html.EscapeString(terminal.Clean(a.Name)), value)
		} else {
			fmt.Fprintf(b, "<div><code>%s</code> %s</div>\n", html.EscapeString(terminal.Clean(a.Name)), value)
		}
	}
	if len(c.Arguments) == 0 && len(c.Raw) > 0 {
		fmt.Fprintf(b, "<pre>%s</pre>\n", html.EscapeString(tidy(c.Raw)))
	}
	if c.Failed {
		b.WriteString("<span class=\"bad\">failed</span>\n")
	}
	b.WriteString("</div>\n")
}

func htmlOutput(b *strings.Builder, what string, text []byte, failed bool) {
	s := strings.Trim(tidy(text), "\n")
	if s == "" {
		return
	}
	n := strings.Count(s, "\n") + 1
	open, class := "", ""
	if n <= openLines && len(s) < 4000 {
		open = " open"
	}
	if failed {
		class = " class=\"bad\""
	}
	fmt.Fprintf(b, "<details%s><summary>%s, %s</summary><pre%s>%s</pre></details>\n",
		open, html.EscapeString(what), human.Plural(n, "line", "lines"), class, html.EscapeString(s))
}

// htmlProse writes Markdown as text: code blocks, headings, bold and code are
// shown, the rest stays as it was typed.
func htmlProse(b *strings.Builder, text []byte) {
	var run []string
	code, inCode := []string{}, false
	flush := func() {
		if s := strings.Trim(strings.Join(run, "\n"), "\n"); s != "" {
			b.WriteString("<div class=\"text\">" + s + "</div>\n")
		}
		run = run[:0]
	}
	endCode := func() {
		b.WriteString("<pre><code>" + html.EscapeString(strings.Join(code, "\n")) + "</code></pre>\n")
		code, inCode = code[:0], false
	}
	for _, l := range markdown(text, 0) {
		switch {
		case l.look == lookFence && !inCode:
			flush()
			inCode = true
		case l.look == lookFence:
			endCode()
		case inCode:
			code = append(code, l.text)
		case l.look == lookHeading:
			run = append(run, "<b class=\"h\">"+inline(strings.TrimLeft(l.text, "# "))+"</b>")
		default:
			run = append(run, inline(l.text))
		}
	}
	if inCode {
		endCode()
	}
	flush()
}

var (
	inlineCode = regexp.MustCompile("`([^`]+)`")
	inlineBold = regexp.MustCompile(`\*\*([^*\x60]+)\*\*`)
)

// inline escapes a line and marks code and bold text in it.
func inline(s string) string {
	s = html.EscapeString(s)
	s = inlineCode.ReplaceAllString(s, "<code>$1</code>")
	return inlineBold.ReplaceAllString(s, "<b>$1</b>")
}

// isShownImage reports whether a browser may be given the image: a type that
// cannot hold scripts, and nothing but base64.
func isShownImage(i *session.Image) bool {
	switch i.MimeType {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
	default:
		return false
	}
	for _, c := range i.Base64 {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '+', c == '/', c == '=':
		default:
			return false
		}
	}
	return len(i.Base64) > 0
}
