package pi

import (
	"bytes"
	"encoding/json"
	"strings"

	"pigrep/internal/session"
)

// Argument names of editing tools: first pi's own, then those of its extensions and of
// other agents.
var (
	oldNames     = []string{"oldText", "old_text", "oldString", "old_string", "old_str"}
	newNames     = []string{"newText", "new_text", "newString", "new_string", "new_str"}
	contentNames = []string{"content", "contents", "file_text"}
	patchNames   = []string{"patch", "diff", "input"}
)

// addEdits adds the edits of a call, if its arguments have one of the known forms. If
// only some of the arguments have that form, it does not change the call.
func addEdits(c *session.Call) {
	path := c.Path()
	var list []session.Edit
	used := make(map[*session.Argument]bool)
	for i := range c.Arguments {
		if a := &c.Arguments[i]; a.Name == "edits" {
			edits, ok := editList(path, a.Value)
			if !ok {
				return
			}
			list, used[a] = edits, true
		}
	}
	old, added := text(c, oldNames), text(c, newNames)
	switch {
	case old != nil && added != nil:
		list = append(list, session.Edit{Path: path, Old: old.Value, New: added.Value})
		used[old], used[added] = true, true
	case old != nil || added != nil:
		return
	}
	if content := text(c, contentNames); content != nil && len(list) == 0 && isWriter(c.Tool) && path != "" {
		list = []session.Edit{{Path: path, New: content.Value, Whole: true}}
		used[content] = true
	}
	if patch := text(c, patchNames); patch != nil && len(list) == 0 && isPatch(patch.Value) {
		c.Diff = patch.Value
		used[patch] = true
	}
	c.Edits = list
	if named := text(c, session.PathNames); named != nil && len(used) > 0 {
		used[named] = true
	}
	for a := range used {
		a.Edits = true
	}
}

// editList reads a list of edits. Some models write the list as a string that contains
// JSON.
func editList(path string, value []byte) ([]session.Edit, bool) {
	var all []map[string]any
	if err := json.Unmarshal(value, &all); err != nil || len(all) == 0 {
		return nil, false
	}
	var list []session.Edit
	for _, m := range all {
		old, hasOld := member(m, oldNames)
		added, hasNew := member(m, newNames)
		if !hasOld || !hasNew {
			return nil, false
		}
		e := session.Edit{Path: path, Old: []byte(old), New: []byte(added)}
		if own, ok := member(m, session.PathNames); ok {
			e.Path = own
		}
		list = append(list, e)
	}
	return list, true
}

func member(m map[string]any, names []string) (string, bool) {
	for _, name := range names {
		if s, ok := m[name].(string); ok {
			return s, true
		}
	}
	return "", false
}

// text returns the first of the named arguments that is a string, nil if none is.
func text(c *session.Call, names []string) *session.Argument {
	for _, name := range names {
		for i := range c.Arguments {
			if a := &c.Arguments[i]; a.Name == name && a.Text {
				return a
			}
		}
	}
	return nil
}

// isWriter reports whether tools of this name write whole files.
func isWriter(tool string) bool {
	switch strings.ToLower(tool) {
	case "write", "write_file", "writefile", "create", "create_file":
		return true
	}
	return false
}

// isPatch reports whether a text is a patch envelope or a unified diff.
func isPatch(text []byte) bool {
	return bytes.HasPrefix(text, []byte("*** Begin Patch\n")) || bytes.HasPrefix(text, []byte("--- ")) || bytes.HasPrefix(text, []byte("@@ "))
}

// isDiff reports whether a text is a diff: a unified one, or lines with signs.
func isDiff(text []byte) bool {
	if isPatch(text) || bytes.Contains(text, []byte("\n@@ -")) {
		return true
	}
	for line := range bytes.SplitSeq(text, []byte("\n")) {
		if len(line) > 0 && !strings.ContainsRune("+- ", rune(line[0])) {
			return false
		}
	}
	return len(bytes.TrimSpace(text)) > 0
}

// viewDiff adds the diff in the details of a result, and the other details. It reports
// whether there is a diff.
func (p *parser) viewDiff(view *session.View) bool {
	details := p.message.fields.Find("details")
	fields := p.json.Fields(details)
	for _, name := range [...]string{"diff", "patch"} {
		if v := fields.Find(name); p.json.Kind(v) == '"' && isDiff(p.json.Text(v)) {
			view.Diff = p.json.Text(v)
			break
		}
	}
	if view.Diff == nil {
		return false
	}
	p.leaves.Begin(&p.json, p.json.Room(details.End-details.Start), false, nil)
	for _, f := range fields {
		if name := string(f.Key); name != "diff" && name != "patch" {
			p.leaves.Add(f.Val, false)
		}
	}
	if rest := p.json.Keep(p.leaves.End()); len(rest) > 0 {
		view.Blocks = append(view.Blocks, session.Block{Kind: session.KindDetails, Text: rest})
	}
	return true
}
