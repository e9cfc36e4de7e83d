package help

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pigrep/ui/cli/flags"
	"pigrep/ui/cli/problem"
)

// ManTopic is a help topic as a man page, in Markdown as md2man reads it.
type ManTopic struct {
	Name string // as in pigrep-query
	Text string
}

// Manual changes the commands for their man pages, and returns those of topics. Long texts are Markdown and
// include the flags in the groups of help; the flags themselves are hidden, because
// cobra/doc would list them ungrouped, with defaults instead of value names.
func Manual(root *cobra.Command) (pages []ManTopic) {
	root.DisableAutoGenTag = true
	root.InitDefaultHelpCmd()
	root.Long = verbatim(Root(root, false)) + "\n# TOPICS\n\n" + topicPages()
	for _, c := range root.Commands() {
		manCommand(c)
	}
	for _, t := range Topics {
		pages = append(pages, ManTopic{"pigrep-" + t, topicPage(t)})
	}
	return pages
}

func manCommand(c *cobra.Command) {
	var b strings.Builder
	for paragraph := range strings.SplitSeq(c.Long, "\n\n") {
		if strings.HasPrefix(paragraph, " ") {
			b.WriteString(verbatim(paragraph) + "\n")
		} else {
			b.WriteString(manText(paragraph) + "\n\n")
		}
	}
	for _, group := range flags.Groups {
		rows := flagRows(c.LocalFlags(), group)
		if len(rows) > 0 {
			fmt.Fprintf(&b, "# %s\n\n", strings.ToUpper(string(group)))
		}
		for _, r := range rows {
			fmt.Fprintf(&b, "**%s**\n: %s\n\n", manText(strings.TrimSpace(r.name)), manText(r.usage))
		}
	}
	b.WriteString("# EXIT STATUS\n\n")
	for _, e := range problem.ExitCodes {
		fmt.Fprintf(&b, "**%d**\n: %s\n\n", e.Code, manText(e.Meaning))
	}
	c.Long = b.String() + "# TOPICS\n\n" + topicPages()
	c.Use += " [FLAGS]"
	c.InitDefaultHelpFlag()
	c.Flags().VisitAll(func(f *pflag.Flag) { f.Hidden = true })
	for _, below := range c.Commands() {
		manCommand(below)
	}
}

// topicPages lists the pages of the topics.
func topicPages() string {
	var names []string
	for _, t := range Topics {
		names = append(names, "**pigrep-"+t+"**(7)")
	}
	return strings.Join(names, ", ")
}

func topicPage(topic string) string {
	name := "pigrep-" + topic
	title := short(topicFile(topic))
	return fmt.Sprintf("%% %q \"7\" \"\" \"pigrep\" \"pigrep manual\"\n\n# NAME\n\n%s - %s\n\n# DESCRIPTION\n\n%s\n# SEE ALSO\n\n**pigrep**(1)\n",
		strings.ToUpper(name), manText(name), manText(strings.ToLower(title[:1])+title[1:]), verbatim(Topic(topic)))
}

// verbatim returns the text as a Markdown code block.
func verbatim(text string) string {
	var b strings.Builder
	for line := range strings.Lines(strings.TrimRight(text, "\n") + "\n") {
		b.WriteString("    " + line)
	}
	return b.String()
}

// manText escapes Markdown.
func manText(text string) string {
	return manEscapes.Replace(text)
}

var manEscapes = strings.NewReplacer(`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "<", `\<`, ">", `\>`, "|", `\|`, "{", `\{`, "}", `\}`, "#", `\#`, "~", `\~`)
