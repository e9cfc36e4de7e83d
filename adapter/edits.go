package adapter

import (
	"bytes"
	"encoding/json"
	"slices"

	"pigrep/internal/session"
)

// Argument names of editing tools: first pi's own, then those of its extensions and of
// other agents.
var (
	oldNames     = []string{"oldText", "old_text", "oldString", "old_string", "old_str"}
	newNames     = []string{"newText", "new_text", "newString", "new_string", "new_str"}
	allNames     = []string{"replaceAll", "replace_all"}
	contentNames = []string{"content", "contents", "file_text"}
	patchNames   = []string{"patch", "diff", "input"}
)

// AddEdits adds the edits of a call, if its arguments have one of the known forms. If
// only some of the arguments have that form, it does not change the call.
func AddEdits(c *session.Call) {
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
	old, added := c.Find(oldNames...), c.Find(newNames...)
	switch {
	case old != nil && added != nil:
		all := slices.ContainsFunc(c.Arguments, func(a session.Argument) bool { return slices.Contains(allNames, a.Name) && string(a.Value) == "true" })
		list = append(list, session.Edit{Path: path, Old: old.Value, New: added.Value, All: all})
		used[old], used[added] = true, true
	case old != nil || added != nil:
		return
	}
	if content := c.Find(contentNames...); content != nil && len(list) == 0 && c.Deed == session.DeedWrite && path != "" {
		list = []session.Edit{{Path: path, New: content.Value, Whole: true}}
		used[content] = true
	}
	if patch := c.Find(patchNames...); patch != nil && len(list) == 0 && IsPatch(patch.Value) {
		c.Diff = patch.Value
		used[patch] = true
	}
	c.Edits = list
	if named := c.Find(session.PathNames...); named != nil && len(used) > 0 {
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
		for _, name := range allNames {
			e.All = e.All || m[name] == true
		}
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

// IsPatch reports whether a text is a patch envelope or a unified diff.
func IsPatch(text []byte) bool {
	return bytes.HasPrefix(text, []byte("*** Begin Patch\n")) || bytes.HasPrefix(text, []byte("--- ")) || bytes.HasPrefix(text, []byte("@@ "))
}

// maxFiles is the number of files of a patch that are kept.
const maxFiles = 1000

// PatchFiles returns what a patch does to which files. Moving one deletes it and writes
// another.
func PatchFiles(patch []byte) (files []session.FileUse) {
	for line := range bytes.SplitSeq(patch, []byte("\n")) {
		line = bytes.TrimRight(line, "\r ")
		header, isHeader := bytes.CutPrefix(line, []byte("*** "))
		if !isHeader || len(line) > MaxPath || len(files) >= maxFiles {
			continue
		}
		what, name, _ := bytes.Cut(header, []byte(": "))
		deed, ok := patchDeeds[string(what)]
		if name = bytes.TrimSpace(name); !ok || len(name) == 0 {
			continue
		}
		if n := len(files); n > 0 && string(what) == "Move to" {
			files[n-1].Deed = session.DeedDelete
		}
		files = append(files, session.FileUse{Path: string(name), Deed: deed})
	}
	return files
}

// patchDeeds are what the headers in a patch say of their files.
var patchDeeds = map[string]session.Deed{
	"Add File": session.DeedWrite, "Update File": session.DeedEdit, "Delete File": session.DeedDelete, "Move to": session.DeedWrite,
}
