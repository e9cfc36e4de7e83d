package transcript_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pigrep/internal/session"
	"pigrep/query/engine/entry"
	"pigrep/ui/transcript"
)

func TestEntriesHaveOneDescription(t *testing.T) {
	t.Parallel()
	message := func(role string) session.Entry {
		return session.Entry{Identity: session.Identity{Type: session.TypeMessage, Role: role}}
	}
	note := message(session.RoleHook)
	note.CustomType = "todo\x1b[31m"
	result := message(session.RoleToolResult)
	result.Tool = "bash"
	long := strings.Repeat("x", transcript.LongestLine)
	for _, tt := range []struct {
		entry session.Entry
		block session.Block
		class transcript.Class
		title string
		form  transcript.Form
	}{
		{message(session.RoleUser), session.Block{Kind: session.KindPrompt}, transcript.Prompt, "prompt", transcript.Prose},
		{message(session.RoleAssistant), session.Block{Kind: session.KindCall, Call: &session.Call{}}, transcript.Reply, "reply", transcript.Call},
		{message(session.RoleAssistant), session.Block{Kind: session.KindError}, transcript.Reply, "reply", transcript.Problem},
		{result, session.Block{Kind: session.KindNote}, transcript.Result, "result bash", transcript.Folded},
		{result, session.Block{Kind: session.KindResult, Image: &session.Image{}}, transcript.Result, "result bash", transcript.Image},
		{note, session.Block{Kind: session.KindDetails}, transcript.Note, "note todo", transcript.Folded},
		{message(session.RoleShell), session.Block{Kind: session.KindShell, Shell: &session.Shell{}}, transcript.Shell, "shell", transcript.Command},
		{message(session.RoleSystem), session.Block{Kind: session.KindSystem}, transcript.System, "system prompt", transcript.Folded},
		{message(session.RoleBranchSummary), session.Block{Kind: session.KindSummary}, transcript.Summary, "branch summary", transcript.Prose},
		{session.Entry{Identity: session.Identity{Type: session.TypeBranchSummary}}, session.Block{Kind: session.KindSummary}, transcript.Summary, "branch summary", transcript.Prose},
		{message("oracle"), session.Block{Kind: session.KindOther}, transcript.Unknown, "oracle", transcript.Folded},
		{session.Entry{Identity: session.Identity{Type: session.TypeCustom}}, session.Block{Kind: session.KindData}, transcript.Other, "custom", transcript.Folded},
		{session.Entry{Identity: session.Identity{Type: "model_\x07change"}}, session.Block{Kind: session.KindMeta}, transcript.Other, "model change", transcript.Line},
		{session.Entry{Identity: session.Identity{Type: "model_change"}}, session.Block{Kind: session.KindMeta, Text: []byte(long)}, transcript.Other, "model change", transcript.Folded},
	} {
		e := &entry.Entry{Entry: tt.entry, View: &session.View{Blocks: []session.Block{tt.block}}}
		it := transcript.Describe(e)
		if it.Class != tt.class || it.Title != tt.title || it.Remark != nil || it.Blocks[0].Form != tt.form {
			t.Errorf("%s %s with %s: class %d, title %q, form %d; want %d, %q, %d",
				tt.entry.Type, tt.entry.Role, tt.block.Kind, it.Class, it.Title, it.Blocks[0].Form, tt.class, tt.title, tt.form)
		}
	}
}

// A command of which the arguments have a copy is left out once.
func TestArgumentsBesideDiffAndCommand(t *testing.T) {
	t.Parallel()
	argument := func(name, value string) session.Argument {
		return session.Argument{Name: name, Value: []byte(value), Text: true}
	}
	edit := argument("newText", "b")
	edit.Edits = true
	call := &session.Call{Arguments: []session.Argument{argument("command", "ls"), argument("why", "ls"), edit}}
	names := func(list []session.Argument) (names string) {
		for _, a := range list {
			names += a.Name + " "
		}
		return names
	}
	for _, tt := range []struct {
		hasDiff bool
		command string
		want    string
	}{{false, "", "command why newText "}, {true, "", "command why "}, {false, transcript.CommandOf(call), "why newText "}} {
		if diff := cmp.Diff(tt.want, names(transcript.Arguments(call, tt.hasDiff, tt.command))); diff != "" {
			t.Errorf("with a diff %t and the command %q (-want +got):\n%s", tt.hasDiff, tt.command, diff)
		}
	}
}
