package help

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"pigrep/internal/files"
	"pigrep/ui/cli/flags"
	"pigrep/ui/cli/problem"
)

// WriteManual writes the man pages to a directory, in roff: those of commands to man1, those of
// topics to man7.
func WriteManual(root *cobra.Command, dir string) error {
	pages := map[string]string{"man1/pigrep.1": rootPage(root)}
	var add func(c *cobra.Command)
	add = func(c *cobra.Command) {
		pages["man1/"+strings.ReplaceAll(c.CommandPath(), " ", "-")+".1"] = commandPage(c)
		for _, below := range c.Commands() {
			add(below)
		}
	}
	for _, c := range root.Commands() {
		add(c)
	}
	for _, t := range Topics {
		pages["man7/pigrep-"+t+".7"] = topicPage(t)
	}
	for name, text := range pages {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		out, err := files.FindOutput(path)
		if err != nil {
			return err
		}
		out.Overwrite = true
		if err := out.Replace(0o644, func(w io.Writer) error { _, err := io.WriteString(w, text); return err }); err != nil {
			return err
		}
	}
	return nil
}

// page is a man page in roff.
type page struct{ strings.Builder }

func newPage(name, section, short string) *page {
	p := &page{}
	fmt.Fprintf(p, ".TH %q %q \"\" \"pigrep\" \"pigrep manual\"\n.nh\n.ad l\n", strings.ToUpper(name), section)
	p.section("Name")
	p.line(name + " - " + strings.ToLower(short[:1]) + short[1:])
	return p
}

func (p *page) section(title string) { fmt.Fprintf(p, ".SH %s\n", strings.ToUpper(title)) }

// line writes a line of text, which roff joins with its neighbours.
func (p *page) line(text string) {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		text = `\&` + text
	}
	p.WriteString(text + "\n")
}

// text writes paragraphs. Lines that begin with a space are kept as they are.
func (p *page) text(text string) {
	kept := false
	keep := func(keeps bool) {
		if keeps != kept {
			p.WriteString(map[bool]string{true: ".nf\n", false: ".fi\n"}[keeps])
			kept = keeps
		}
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		keep(strings.HasPrefix(line, " ") || kept && line == "")
		if line == "" && !kept {
			line = ".PP"
			p.WriteString(line + "\n")
			continue
		}
		p.line(line)
	}
	keep(false)
}

// item writes a term and its meaning.
func (p *page) item(term, meaning string) {
	p.WriteString(".TP\n.B ")
	p.line(term)
	p.line(meaning)
}

func (p *page) seeAlso(names ...string) string {
	for _, t := range Topics {
		names = append(names, "pigrep-"+t+"(7)")
	}
	p.section("See also")
	p.line(strings.Join(names, ", "))
	return p.String()
}

func rootPage(root *cobra.Command) string {
	p := newPage("pigrep", "1", root.Short)
	p.section("Description")
	p.text(Root(root, false))
	var names []string
	for _, c := range root.Commands() {
		names = append(names, "pigrep-"+c.Name()+"(1)")
	}
	return p.seeAlso(names...)
}

func commandPage(c *cobra.Command) string {
	p := newPage(strings.ReplaceAll(c.CommandPath(), " ", "-"), "1", c.Short)
	p.section("Synopsis")
	var usage strings.Builder
	writeUsage(&usage, c)
	p.text(usage.String())
	p.section("Description")
	p.text(c.Long + "\n")
	for _, group := range flags.Groups {
		rows := flagRows(c.LocalFlags(), group)
		if len(rows) > 0 {
			p.section(string(group))
		}
		for _, r := range rows {
			p.item(strings.TrimSpace(r.name), r.usage)
		}
	}
	p.section("Examples")
	p.text("  " + strings.ReplaceAll(c.Example, "\n", "\n  ") + "\n")
	p.section("Exit status")
	for _, e := range problem.ExitCodes {
		p.item(fmt.Sprint(e.Code), e.Meaning)
	}
	return p.seeAlso("pigrep(1)")
}

func topicPage(topic string) string {
	p := newPage("pigrep-"+topic, "7", short(topicFile(topic)))
	p.section("Description")
	p.text(Topic(topic))
	return p.seeAlso("pigrep(1)")
}
