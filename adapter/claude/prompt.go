package claude

import (
	"bytes"
	"slices"
	"strings"

	"pigrep/internal/jsonl"
	"pigrep/internal/session"
)

// What the line of a user begins with, if it is not what the user typed.
var (
	interruption = []byte("[Request interrupted by user")
	continuation = []byte("This session is being continued from a previous conversation")
	hookFeedback = []byte("Stop hook feedback:")
)

// tagKinds are the elements that Claude Code writes into the lines of a user, and the kinds
// of their text. What follows an element is another one, or what the user typed.
var tagKinds = []struct {
	tag  string
	kind session.Kind
}{
	{"system-reminder", session.KindSystem},
	{"ide_opened_file", session.KindSystem},
	{"ide_selection", session.KindSystem},
	{"local-command-caveat", session.KindSystem},
	{"local-command-stdout", session.KindShell},
	{"local-command-stderr", session.KindShell},
	{"bash-input", session.KindShell},
	{"bash-stdout", session.KindShell},
	{"bash-stderr", session.KindShell},
	{"task-notification", session.KindNote},
}

// commandTags are the elements of a command that the user typed, such as /init.
var commandTags = []string{"command-name", "command-message", "command-args"}

// readTexts reads a text in the line of a user: what the user typed, and what Claude Code
// put around it.
func (p *parser) readTexts(v jsonl.Value) {
	text := p.JSON.Text(v)
	body := trimStart(text)
	switch {
	case p.JSON.IsTrue(p.all.Find("isCompactSummary")), bytes.HasPrefix(body, continuation):
		p.addText(textBlock, session.KindSummary, text)
		return
	case p.JSON.IsTrue(p.all.Find("isMeta")):
		p.addText(textBlock, session.KindSystem, text)
		return
	}
	for len(body) > 0 && body[0] == '<' {
		tag, kind, inside, rest := leadingTag(body)
		if kind == "" {
			if command := p.commandOf(body); command != nil {
				p.addText(commandBlock, session.KindPrompt, command)
				return
			}
			text = body
			break
		}
		sort := textBlock
		switch tag {
		case "task-notification":
			p.addText(textBlock, kind, body) // all of it: what follows is Claude Code's, too
			return
		case "bash-input":
			sort = shellBlock
		}
		p.addText(sort, kind, inside)
		text, body = rest, trimStart(rest)
	}
	switch {
	case len(body) == 0:
	case bytes.HasPrefix(body, interruption), bytes.HasPrefix(body, hookFeedback):
		p.addText(textBlock, session.KindNote, text)
	default:
		p.addText(textBlock, session.KindPrompt, text)
	}
}

func (p *parser) addText(sort blockSort, kind session.Kind, text []byte) {
	if len(text) > 0 {
		p.blocks = append(p.blocks, block{sort: sort, kind: kind, text: text})
	}
}

// trimStart returns a text without the byte order mark and the blanks before it.
func trimStart(text []byte) []byte {
	return bytes.TrimLeft(bytes.TrimPrefix(text, jsonl.ByteOrderMark), " \t\r\n")
}

// leadingTag returns the element of Claude Code that a text begins with, and what follows
// it. The kind is "" if there is none, or if its end is missing: the user typed it.
func leadingTag(text []byte) (tag string, kind session.Kind, inside, rest []byte) {
	for _, t := range tagKinds {
		if inside, rest, ok := cutTag(text, t.tag); ok {
			return t.tag, t.kind, inside, rest
		}
	}
	return "", "", nil, text
}

// cutTag returns the inside of the element that a text begins with, and what follows it.
func cutTag(text []byte, tag string) (inside, rest []byte, ok bool) {
	if after, ok := bytes.CutPrefix(text, []byte("<"+tag)); ok {
		if attributes, after, ok := bytes.Cut(after, []byte(">")); ok && (len(attributes) == 0 || attributes[0] == ' ') {
			return bytes.Cut(after, []byte("</"+tag+">"))
		}
	}
	return nil, text, false
}

// commandOf returns a command as the user typed it: /name arguments. A message that says more
// than its name follows on a line of its own. It is nil for another text.
func (p *parser) commandOf(text []byte) []byte {
	var values [3][]byte
	rest := text
	for i := 0; i < len(commandTags); i++ {
		if inside, after, ok := cutTag(rest, commandTags[i]); ok && values[i] == nil {
			values[i], rest = inside, trimStart(after)
			i = -1 // they come in any order
		}
	}
	name := bytes.TrimSpace(values[0])
	if len(name) == 0 {
		return nil
	}
	command := append(p.JSON.Room(len(text)+1), name...)
	if args := bytes.TrimSpace(values[2]); len(args) > 0 {
		command = append(append(command, ' '), args...)
	}
	if message := bytes.TrimSpace(values[1]); len(message) > 0 && !bytes.Equal(bytes.TrimPrefix(name, []byte("/")), bytes.TrimPrefix(message, []byte("/"))) {
		command = append(append(append(command, "\n<command-message>"...), message...), "</command-message>"...)
	}
	if len(rest) > 0 {
		command = append(append(command, '\n'), rest...)
	}
	return p.JSON.Keep(command)
}

// rolesOf are the roles of the lines of a user without a prompt.
var rolesOf = map[session.Kind]string{
	session.KindSystem: session.RoleSystem, session.KindShell: session.RoleShell,
	session.KindSummary: session.RoleCompactionSummary, session.KindNote: session.RoleCustom,
}

// writeUser writes the parts of the line of a user, and says whose line it is.
func (p *parser) writeUser() {
	e := &p.Entry
	e.Type = session.TypeMessage
	if e.Role == "" {
		e.Role = session.RoleUser
		if i := slices.IndexFunc(p.blocks, func(b block) bool { return b.kind == session.KindPrompt || b.sort == imageBlock }); i < 0 && len(p.blocks) > 0 {
			e.Role = rolesOf[p.blocks[0].kind]
		}
	}
	p.writeBlocks()
	if e.Role != session.RoleUser || p.isBeside() {
		return
	}
	for i := range p.blocks {
		// A command says too little to title a session.
		if b := &p.blocks[i]; b.kind == session.KindPrompt && b.sort == textBlock {
			p.AddPrompt(b.text)
		}
	}
	if text := string(p.Prompt); !isBareCommand(text) {
		e.UserText = text
	}
}

// isBareCommand reports whether a prompt is only the name of a command: /usage. A path is
// none.
func isBareCommand(text string) bool {
	text = strings.TrimSpace(text)
	return strings.HasPrefix(text, "/") && !strings.ContainsAny(text[1:], "/ \t\n")
}
