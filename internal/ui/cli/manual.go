package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pigrep/internal/terminal"
)

// ManPage is a page of the manual, in Markdown as md2man reads it.
type ManPage struct {
	Name    string // as in pigrep-search
	Section int
	Text    string
}

// ManPages returns the manual: a page for each command and each topic, made from
// what help shows.
func ManPages() []ManPage {
	root := newRootCommand(&App{Streams: &terminal.Streams{}, Getenv: func(string) string { return "" }})
	var list []ManPage
	var add func(c *cobra.Command)
	add = func(c *cobra.Command) {
		if c.Hidden {
			return
		}
		list = append(list, ManPage{pageName(c), 1, commandPage(c)})
		for _, below := range c.Commands() {
			add(below)
		}
	}
	add(root)
	for _, t := range topics {
		list = append(list, ManPage{"pigrep-" + t.name, 7, topicPage(&t)})
	}
	slices.SortFunc(list, func(a, b ManPage) int {
		return cmp.Or(cmp.Compare(a.Section, b.Section), strings.Compare(a.Name, b.Name))
	})
	return list
}

func pageName(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

func pageHead(b *strings.Builder, name string, section int, short string) {
	fmt.Fprintf(b, "%% %q %q \"\" \"pigrep\" \"pigrep manual\"\n\n# NAME\n\n%s - %s\n", strings.ToUpper(name), fmt.Sprint(section),
		manText(name), manText(strings.ToLower(short[:1])+short[1:]))
}

func topicPage(t *topic) string {
	var b strings.Builder
	pageHead(&b, "pigrep-"+t.name, 7, t.short)
	b.WriteString("\n# DESCRIPTION\n\n" + verbatim(t.text()))
	b.WriteString("\n# SEE ALSO\n\n**pigrep**(1)\n")
	return b.String()
}

func commandPage(c *cobra.Command) string {
	var b strings.Builder
	pageHead(&b, pageName(c), 1, c.Short)
	b.WriteString("\n# SYNOPSIS\n\n")
	if c.HasParent() {
		fmt.Fprintf(&b, "**%s**%s [FLAGS]\n", c.CommandPath(), manText(strings.TrimPrefix(c.Use, c.Name())))
		b.WriteString("\n# DESCRIPTION\n")
		for paragraph := range strings.SplitSeq(cmp.Or(c.Long, c.Short), "\n\n") {
			b.WriteByte('\n')
			if strings.HasPrefix(paragraph, " ") {
				b.WriteString(verbatim(paragraph))
			} else {
				b.WriteString(manText(paragraph) + "\n")
			}
		}
	} else {
		b.WriteString("**pigrep** QUERY...\n\n**pigrep** COMMAND [FLAGS]\n\n# DESCRIPTION\n\n" + verbatim(rootHelp(c)))
	}
	for _, group := range flagGroups {
		names := manFlags(c.LocalFlags(), group)
		if len(names) > 0 {
			fmt.Fprintf(&b, "\n# %s\n\n%s", strings.ToUpper(string(group)), strings.Join(names, "\n"))
		}
	}
	if c.Example != "" {
		b.WriteString("\n# EXAMPLES\n\n" + verbatim(c.Example))
	}
	if c.HasParent() {
		b.WriteString("\n# EXIT STATUS\n")
		for _, e := range exitCodes {
			fmt.Fprintf(&b, "\n**%d**\n: %s\n", e.Code, manText(e.Meaning))
		}
	}
	b.WriteString("\n# SEE ALSO\n\n" + strings.Join(related(c), ", ") + "\n")
	return b.String()
}

// related lists the pages beside one: the commands above and below it, and the
// topics.
func related(c *cobra.Command) []string {
	var names []string
	if c.HasParent() {
		names = append(names, "**"+pageName(c.Parent())+"**(1)")
	}
	for _, below := range c.Commands() {
		if !below.Hidden {
			names = append(names, "**"+pageName(below)+"**(1)")
		}
	}
	for _, t := range topics {
		names = append(names, "**pigrep-"+t.name+"**(7)")
	}
	return names
}

func manFlags(flags *pflag.FlagSet, group flagGroup) []string {
	var list []string
	for _, r := range flagRows(flags, group) {
		list = append(list, fmt.Sprintf("**%s**\n: %s\n", manText(strings.TrimSpace(r.name)), manText(r.usage)))
	}
	return list
}

// verbatim is text that is shown as it stands.
func verbatim(text string) string {
	var b strings.Builder
	for line := range strings.Lines(strings.TrimRight(text, "\n") + "\n") {
		b.WriteString("    " + line)
	}
	return b.String()
}

// manText is text for the reader, in which nothing is Markdown.
func manText(text string) string {
	return manEscapes.Replace(text)
}

var manEscapes = strings.NewReplacer(`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "<", `\<`, ">", `\>`, "|", `\|`, "{", `\{`, "}", `\}`, "#", `\#`, "~", `\~`)
