package session

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Subject returns what a prompt is about, on one line: what the user typed, without what
// agents and their templates put around it. It is "" for a prompt without text.
//
//   - Leading elements, in which agents pass files and context, are dropped, unless they are named
//     for a task: <task>…</task>.
//   - A skill is the command that the user typed, with its arguments: /skill:NAME ARGUMENTS.
//   - Of a template that begins with a section, only the section with the task counts, or what the
//     user gave to the template.
//   - Marks of Markdown and blocks of code are dropped.
//
// If nothing else is left, it is the last element as a command.
func Subject(prompt string) string {
	rest, command := cutElements(strings.TrimSpace(prompt))
	rest = strings.TrimSpace(strings.TrimPrefix(rest, planPreface))
	text := oneLine(task(rest))
	switch {
	case text == "":
		return command
	case strings.HasPrefix(command, skillCommand):
		return joined(command + " " + text)
	}
	return text
}

// planPreface is what Claude Code puts before a plan that the user accepted.
const planPreface = "Implement the following plan:"

const skillCommand = "/skill:"

// saysLittle reports whether a subject is only a command, so that the next prompt may
// say more.
func saysLittle(subject string) bool {
	return subject == "" || subject[0] == '/' && !strings.ContainsAny(subject, " \n")
}

// lazily compiles an expression when it is first used.
func lazily(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

var (
	openingTag    = lazily(`^<([A-Za-z][\w-]*)((?:\s+[\w-]+="[^"\n]*")*)\s*>`)
	nameAttribute = lazily(`\sname="([^"\n]*)"`)
	heading       = lazily(`(?m)^(#{1,6})[ \t]+(.*)$`)
	taskHeading   = lazily(`(?i)\b(task|problem|request|goal|objective|question|issue)\b`)
	taskTag       = lazily(`(?i)(^|[_-])(task|problem|request|goal|objective|question|issue|prompt|query|input)([_-]|$)`)
	userInput     = lazily("(?is)\\A(?:#{1,6}[ \\t]+User Input|The user input to you [^\n]*\\s+User input:)[ \\t]*\n\\s*(?:```\\w*\n(.*?)\n?```|([^#`\\s].*?)(?:\n\\s*\n|\\z))")
	ruleLine      = lazily(`^([-=*_]\s*){3,}$`)
	listMark      = lazily(`^(?:[-*+>]\s+)+(?:\[[ xX]\]\s+)?`)
	inlineMark    = lazily("\\*\\*([^*\\s](?:[^*\n]*[^*\\s])?)\\*\\*|`+([^`\n]+)`+|!?\\[([^\\]\n]+)\\]\\([^)\\s]*[/.:#][^)\\s]*\\)")
)

// cutElements cuts the elements that a text begins with, and returns the last of them as a
// command. An element without an end is text, and so is that with the task.
func cutElements(s string) (rest, command string) {
	for {
		if comment, after, ok := strings.Cut(s, "-->"); ok && strings.HasPrefix(comment, "<!--") {
			s = strings.TrimSpace(after)
			continue
		}
		m := openingTag().FindStringSubmatch(s)
		if m == nil {
			return s, command
		}
		tag := m[1]
		inside, after, ok := strings.Cut(s[len(m[0]):], "</"+tag+">")
		if !ok {
			return s, command
		}
		if name := nameAttribute().FindStringSubmatch(m[2]); name != nil {
			base := name[1][strings.LastIndexAny(name[1], `/\`)+1:]
			command = "/" + tag + ":" + strings.Join(strings.Fields(base), "-")
		} else if taskTag().MatchString(tag) {
			return strings.TrimSpace(inside + "\n" + after), command
		} else {
			command = "/" + tag
		}
		s = strings.TrimSpace(after)
	}
}

// task returns the text of the last section whose heading names a task, if the text
// begins with a section. A text with its own title is not a template.
func task(s string) string {
	if m := userInput().FindStringSubmatch(s); m != nil && strings.TrimSpace(m[1]+m[2]) != "" {
		return m[1] + m[2]
	}
	if s == "" || s[0] != '#' {
		return s
	}
	all := heading().FindAllStringSubmatchIndex(s, -1)
	if len(all) < 2 || all[0][0] != 0 || all[0][3]-all[0][2] == 1 {
		return s
	}
	for i, m := range slices.Backward(all) {
		if !taskHeading().MatchString(s[m[4]:m[5]]) {
			continue
		}
		end := len(s)
		if i+1 < len(all) {
			end = all[i+1][0]
		}
		if text := s[m[1]:end]; strings.TrimSpace(text) != "" {
			return text
		}
	}
	return s
}

// oneLine joins the lines of Markdown, as many as a subject takes. Code counts only if there
// is nothing else.
func oneLine(s string) string {
	var text, code []string
	fenced, n := false, 0
	for line := range strings.Lines(s) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "```"), strings.HasPrefix(line, "~~~"):
			fenced = !fenced
		case fenced:
			code = append(code, line)
		case line != "" && strings.IndexByte("-=*_", line[0]) >= 0 && ruleLine().MatchString(line):
		default:
			if m := heading().FindStringSubmatch(line); m != nil {
				line = m[2]
			}
			line = inlineMark().ReplaceAllString(listMark().ReplaceAllString(line, ""), "$1$2$3")
			text = append(text, line)
			n += len(line)
		}
		if n > MaxFirstPrompt {
			break
		}
	}
	if n == 0 {
		text = code
	}
	return joined(strings.Join(text, " "))
}

// joined returns the first bytes of a text on one line.
func joined(s string) string {
	return shorten(strings.Join(strings.Fields(s), " "), MaxFirstPrompt)
}
