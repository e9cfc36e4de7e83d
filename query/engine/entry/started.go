package entry

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"pigrep/internal/redact"
	"pigrep/internal/session"
)

// Started tells the conversation which subagents its session started, and how sessions are
// named. Read then says them at the calls that started them.
func (c *Conversation) Started(list []*session.Summary, name func(id, path string) string) {
	c.subagents, c.name, c.started = list, name, nil
}

// addSubagents adds to the calls of an entry the subagents that they started.
func (c *Conversation) addSubagents(e *Entry) {
	for i := range e.View.Blocks {
		call := e.View.Blocks[i].Call
		if call == nil || call.Deed != session.DeedDelegate || len(c.subagents) == 0 {
			continue
		}
		if c.started == nil {
			c.findStarts()
		}
		for _, s := range c.started[call.ID] {
			title := s.Title()
			if c.Redact {
				title = redact.Beginning(title)
			}
			call.Subagents = append(call.Subagents, session.Subagent{Name: c.name(s.ID, s.Path), Title: title, Path: s.Path, ID: s.ID})
		}
	}
}

// delegation is a call that gives work to another agent.
type delegation struct{ id, text string }

// furthestStart is how many replies before the beginning of a subagent are searched for the call
// that started it.
const furthestStart = 50

// findStarts finds the calls that started the subagents. No file says so in the same way: it is
// the last call before the subagent began which has its first prompt among its arguments, or
// else the last one that gives work to another agent.
func (c *Conversation) findStarts() {
	c.started = make(map[string][]*session.Summary)
	read := make(map[int][]delegation)
	nodes, at := c.Record.Nodes, 0
	for _, s := range slices.SortedStableFunc(slices.Values(c.subagents), func(a, b *session.Summary) int { return a.Created().Compare(b.Created()) }) {
		until := s.Created().Add(time.Second) // clocks of two processes
		for at < len(nodes) && !c.Record.TimeOf(&nodes[at]).After(until) {
			at++
		}
		prompt, last := promptStart(s.FirstPrompt), ""
		for i, replies := at-1, 0; i >= 0 && replies < furthestStart; i-- {
			if nodes[i].Role != session.RoleAssistant {
				continue
			}
			replies++
			if _, known := read[i]; !known {
				read[i] = c.delegations(i)
			}
			k := slices.IndexFunc(read[i], func(d delegation) bool { return prompt != "" && strings.Contains(d.text, prompt) })
			if k >= 0 {
				last = read[i][k].id
				break
			}
			if n := len(read[i]); n > 0 {
				last = cmp.Or(last, read[i][n-1].id)
			}
		}
		if last != "" {
			c.started[last] = append(c.started[last], s)
		}
	}
}

// delegations returns the calls of an entry that give work to another agent.
func (c *Conversation) delegations(i int) (list []delegation) {
	e, err := c.read(i)
	if err != nil {
		return nil // whoever reads it learns of that
	}
	for k := range e.View.Blocks {
		call := e.View.Blocks[k].Call
		if call == nil || call.Deed != session.DeedDelegate || call.ID == "" {
			continue
		}
		var text strings.Builder
		for _, a := range call.Arguments {
			text.WriteString(oneLine(string(a.Value[:min(len(a.Value), longestPrompt)])) + " ")
		}
		list = append(list, delegation{call.ID, text.String()})
	}
	return list
}

// longestPrompt is how much of an argument is compared with first prompts.
const longestPrompt = 4096

// promptStart returns enough of a first prompt, which may be cut, to tell it from others.
func promptStart(prompt string) string {
	prompt = oneLine(prompt)
	return strings.ToValidUTF8(strings.TrimRight(prompt[:min(len(prompt), 160)], "… "), "")
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
