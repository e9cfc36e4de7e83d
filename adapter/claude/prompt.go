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
// of their text. What follows one of those that lead a prompt is the prompt.
var tagKinds = []struct {
	tag   string
	kind  session.Kind
	leads bool
}{
	{"system-reminder", session.KindSystem, true},
	{"ide_opened_file", session.KindSystem, true},
	{"ide_selection", session.KindSystem, true},
	{"local-command-caveat", session.KindSystem, true},
	{"task-notification", session.KindNote, false},
	{"local-command-stdout", session.KindShell, false},
	{"local-command-stderr", session.KindShell, false},
	{"bash-input", session.KindShell, false},
	{"bash-stdout", session.KindShell, false},
	{"bash-stderr", session.KindShell, false},
}

// commandTags are the elements of a command that the user typed, such as /init.
var commandTags = []string{"command-name", "command-message", "command-args"}

// readTexts reads a text in the line of a user: what the user typed, and what Claude Code
// put around it.
func (p *parser) readTexts(v jsonl.Value) {
	text := p.json.Text(v)
	switch body := trimStart(text); {
	case len(text) == 0:
	case p.json.IsTrue(p.all.Find("isCompactSummary")), bytes.HasPrefix(body, continuation):
		p.addText(session.KindSummary, text)
	case p.json.IsTrue(p.all.Find("isMeta")):
		p.addText(session.KindSystem, text)
	default:
		p.splitText(text, body)
	}
}

func (p *parser) addText(kind session.Kind, text []byte) {
	if len(text) > 0 {
		p.blocks = append(p.blocks, block{kind: kind, text: text})
	}
}

// splitText reads a text, whose body is without the space before it.
func (p *parser) splitText(text, body []byte) {
	for len(body) > 0 && body[0] == '<' {
		kind, inside, rest, leads := leadingTag(body)
		switch {
		case kind == "":
			if command := p.commandOf(body); command != nil {
				p.blocks = append(p.blocks, block{kind: session.KindPrompt, text: command, call: call{tool: "/"}})
				return
			}
			p.addText(session.KindPrompt, body)
			return
		case kind == session.KindShell:
			p.readShell(body)
			return
		case !leads:
			p.addText(kind, body)
			return
		}
		p.addText(kind, inside)
		text, body = rest, trimStart(rest)
	}
	switch {
	case len(body) == 0:
	case bytes.HasPrefix(body, interruption), bytes.HasPrefix(body, hookFeedback):
		p.addText(session.KindNote, text)
	default:
		p.addText(session.KindPrompt, text)
	}
}

// trimStart returns a text without the byte order mark and the blanks before it.
func trimStart(text []byte) []byte {
	return bytes.TrimLeft(bytes.TrimPrefix(text, jsonl.ByteOrderMark), " \t\r\n")
}

// leadingTag returns the element of Claude Code that a text begins with, and what follows
// it. The kind is "" if there is none, or if its end is missing: the user typed it.
func leadingTag(text []byte) (kind session.Kind, element, rest []byte, leads bool) {
	for _, t := range tagKinds {
		if inside, rest, ok := cutTag(text, t.tag); ok {
			return t.kind, inside, rest, t.leads
		}
	}
	return "", nil, text, false
}

// cutTag returns the inside of the element that a text begins with, and what follows it.
func cutTag(text []byte, tag string) (inside, rest []byte, ok bool) {
	after, ok := bytes.CutPrefix(text, []byte("<"+tag))
	if !ok {
		return nil, text, false
	}
	open := bytes.IndexByte(after, '>')
	if open < 0 || open > 0 && after[0] != ' ' {
		return nil, text, false
	}
	inside, rest, ok = bytes.Cut(after[open+1:], []byte("</"+tag+">"))
	if !ok {
		return nil, text, false
	}
	return inside, rest, true
}

// commandOf returns a command as the user typed it: /name arguments. A message that says more
// than its name follows on a line of its own. It is nil for another text.
func (p *parser) commandOf(text []byte) []byte {
	var values [3][]byte
	rest, found := text, false
	for len(rest) > 0 {
		i := slices.IndexFunc(commandTags, func(tag string) bool { return bytes.HasPrefix(rest, []byte("<"+tag+">")) })
		if i < 0 {
			break
		}
		inside, after, ok := cutTag(rest, commandTags[i])
		if !ok {
			break
		}
		values[i], found = inside, true
		rest = trimStart(after)
	}
	name := bytes.TrimSpace(values[0])
	if !found || len(name) == 0 {
		return nil
	}
	command := append(p.json.Room(len(text)+1), name...)
	if args := bytes.TrimSpace(values[2]); len(args) > 0 {
		command = append(append(command, ' '), args...)
	}
	if message := bytes.TrimSpace(values[1]); len(message) > 0 && !bytes.Equal(bytes.TrimPrefix(name, []byte("/")), bytes.TrimPrefix(message, []byte("/"))) {
		command = append(append(append(command, "\n<command-message>"...), message...), "</command-message>"...)
	}
	if len(rest) > 0 {
		command = append(append(command, '\n'), rest...)
	}
	return p.json.Keep(command)
}

// readShell reads a command that the user ran, or its output.
func (p *parser) readShell(text []byte) {
	for len(text) > 0 {
		kind, inside, rest, _ := leadingTag(text)
		if kind != session.KindShell {
			p.splitText(text, text)
			return
		}
		b := block{kind: kind, text: inside}
		if bytes.HasPrefix(text, []byte("<bash-input>")) {
			b.sort = shellBlock
		}
		if len(inside) > 0 {
			p.blocks = append(p.blocks, b)
		}
		text = trimStart(rest)
	}
}

// rolesOf are the roles of the lines of a user without a prompt.
var rolesOf = map[session.Kind]string{
	session.KindSystem: session.RoleSystem, session.KindShell: session.RoleShell,
	session.KindSummary: session.RoleCompactionSummary, session.KindNote: session.RoleCustom,
}

// writeUser writes the parts of the line of a user, and says whose line it is.
func (p *parser) writeUser() {
	e := &p.entry
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
		if b := &p.blocks[i]; b.kind == session.KindPrompt && b.call.tool == "" && len(p.prompt) < maxPrompt {
			if len(p.prompt) > 0 {
				p.prompt = append(p.prompt, ' ')
			}
			p.prompt = append(p.prompt, session.Cut(b.text, maxPrompt-len(p.prompt))...)
		}
	}
	if text := string(p.prompt); !isBareCommand(text) {
		e.UserText = text
	}
}

// maxPrompt bounds Entry.UserText, which is only shown.
const maxPrompt = 64 << 10

// isBareCommand reports whether a prompt is only the name of a command: /usage. A path is
// none.
func isBareCommand(text string) bool {
	text = strings.TrimSpace(text)
	return strings.HasPrefix(text, "/") && !strings.ContainsAny(text[1:], "/ \t\n")
}
