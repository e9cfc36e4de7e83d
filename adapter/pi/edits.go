package pi

import (
	"bytes"
	"encoding/json"
	"strings"

	"pigrep/internal/session"
)

// Names of arguments of editing tools: pi's own first, then those that its extensions
// and other agents use.
var (
	oldNames     = []string{"oldText", "old_text", "oldString", "old_string", "old_str"}
	newNames     = []string{"newText", "new_text", "newString", "new_string", "new_str"}
	contentNames = []string{"content", "contents", "file_text"}
	patchNames   = []string{"patch", "diff", "input"}
)

// edits sets what a call changes in files, if its arguments have one of the known
// forms. A call with arguments of which only some make sense stays as it is.
func edits(c *session.Call) {
	path := c.Path()
	var list []session.Edit
	for i := range c.Arguments {
		if c.Arguments[i].Name != "edits" {
			continue
		}
		var ok bool
		if list, ok = editList(path, c.Arguments[i].Value); !ok {
			return
		}
	}
	old, hasOld := text(c, oldNames)
	if added, hasNew := text(c, newNames); hasOld && hasNew {
		list = append(list, session.Edit{Path: path, Old: old, New: added})
	} else if hasOld || hasNew {
		return
	}
	if len(list) == 0 && isWriter(c.Tool) {
		if content, ok := text(c, contentNames); ok && path != "" {
			list = []session.Edit{{Path: path, New: content, Whole: true}}
		}
	}
	c.Edits = list
	if patch, ok := text(c, patchNames); ok && len(list) == 0 && isPatch(patch) {
		c.Diff = patch
	}
}

// editList reads a list of edits. Some models write it as a text with JSON.
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

// text returns the first of the named arguments that is a string.
func text(c *session.Call, names []string) ([]byte, bool) {
	for _, name := range names {
		for i := range c.Arguments {
			if a := &c.Arguments[i]; a.Name == name && a.Text {
				return a.Value, true
			}
		}
	}
	return nil, false
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

// viewDiff adds the diff in the details of a result.
func (p *parser) viewDiff(view *session.View) {
	fields := p.json.Fields(p.message.fields.Find("details"))
	for _, name := range [...]string{"diff", "patch"} {
		if v := fields.Find(name); p.json.Kind(v) == '"' && isDiff(p.json.Text(v)) {
			view.Diff = p.json.Text(v)
			return
		}
	}
}
