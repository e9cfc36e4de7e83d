package codex

import (
	"bytes"
	"html"
	"slices"
	"strings"

	"pigrep/internal/session"
)

// Elements and texts that Codex and its apps write into messages of a user, with the kinds of their
// text. An element is followed by another one, or by the words of a person.
var (
	injected = []struct {
		kind session.Kind
		tags []string
	}{
		{session.KindSystem, []string{
			"INSTRUCTIONS", "permissions instructions", "skill", "collaboration_mode", "personality_spec", "model_switch",
			"multi_agent_mode", "realtime_conversation", "subagent_notification", "runtime",
		}},
		{session.KindNote, []string{"turn_aborted", "user_action", "hook_prompt", "heartbeat"}},
		{session.KindShell, []string{"user_shell_command"}},
	}

	// injectedEnds are the last words of the names of further elements: environment_context. Each
	// version has new ones.
	injectedEnds = []string{"context", "instructions", "plugins", "reminder"}

	// beginnings are what a text begins with if all of it is Codex's.
	beginnings = [][]byte{
		[]byte("Warning: apply_patch was requested via "),
		[]byte("Warning: The maximum number of unified exec processes"),
	}

	// requests are the headings of a person's own words, behind the words of an app.
	requests = [][]byte{[]byte("## My request for Codex:"), []byte("## My request:")}

	// prefaces are the first headings of an app's words before them.
	prefaces = [][]byte{
		[]byte("# Context from my IDE setup:"), []byte("# Files mentioned by the user:"), []byte("# Applications mentioned by the user:"),
		[]byte("# In app browser:"), []byte("# Browser comments:"), []byte("# Diff comments:"), []byte("# Selected text:"),
		[]byte("# Review findings:"), []byte("# Response annotations:"), requests[0], requests[1],
	}

	// delegations are the elements in which one thread gives its input to another one.
	delegations = [][]byte{[]byte("<codex_delegation>"), []byte("<realtime_delegation>")}
)

// instructions introduces a file with instructions.
const instructions = "# AGENTS.md instructions"

// injection returns the kind and the end of what Codex wrote at the start of a text. The kind is "" if a
// person wrote the start.
func injection(text []byte) (session.Kind, int) {
	switch {
	case bytes.HasPrefix(text, []byte(instructions)):
		if end := endOf(text, "INSTRUCTIONS"); end > 0 {
			return session.KindSystem, end
		}
		return session.KindSystem, len(text)
	case beginsWith(text, beginnings):
		return session.KindNote, len(text)
	case text[0] != '<':
		return "", 0
	case isImageTag(text):
		return session.KindSystem, len(text)
	}
	for _, list := range injected {
		for _, tag := range list.tags {
			if after, ok := bytes.CutPrefix(text[1:], []byte(tag)); ok && len(after) > 0 && (after[0] == '>' || after[0] == ' ') {
				if end := endOf(text, tag); end > 0 {
					return list.kind, end
				}
			}
		}
	}
	tag := string(text[1:max(bytes.IndexAny(text, " >"), 1)])
	if at := strings.LastIndexAny(tag, "_-"); at > 0 && slices.Contains(injectedEnds, tag[at+1:]) {
		if end := endOf(text, tag); end > 0 {
			return session.KindSystem, end
		}
	}
	return "", 0
}

// endOf returns the offset where an element ends, 0 if it has no end. Its content may contain such an end, too.
func endOf(text []byte, tag string) int {
	closing := []byte("</" + tag + ">")
	if bytes.HasSuffix(text, closing) {
		return len(text)
	}
	if i := bytes.Index(text, closing); i >= 0 {
		return i + len(closing)
	}
	return 0
}

// isImageTag reports whether a text is only what Codex puts around an image.
func isImageTag(text []byte) bool {
	return bytes.Equal(text, []byte("</image>")) || bytes.HasPrefix(text, []byte("<image")) && bytes.IndexByte(text, '>') == len(text)-1
}

// typedIn returns the part of a prompt that a person typed.
func typedIn(text []byte) []byte {
	body := bytes.TrimSpace(text)
	switch {
	case beginsWith(body, delegations):
		if _, input, ok := bytes.Cut(body, []byte("<input>")); ok {
			input, _, _ = bytes.Cut(input, []byte("</input>"))
			return bytes.TrimSpace([]byte(html.UnescapeString(string(input))))
		}
	case beginsWith(body, prefaces):
		for _, heading := range requests {
			if _, typed, ok := bytes.Cut(body, heading); ok {
				return bytes.TrimSpace(typed)
			}
		}
		return withoutList(body)
	}
	return text
}

// withoutList returns a text without the headings and lists at its start.
func withoutList(text []byte) []byte {
	for len(text) > 0 && (text[0] == '#' || text[0] == '-') {
		_, text, _ = bytes.Cut(text, []byte("\n"))
		text = bytes.TrimSpace(text)
	}
	return text
}

func beginsWith(text []byte, any [][]byte) bool {
	for _, beginning := range any {
		if bytes.HasPrefix(text, beginning) {
			return true
		}
	}
	return false
}
