package claude

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pigrep/adapter"
	"pigrep/internal/session"
	"pigrep/lab/adapters"
)

// laid writes the blocks of the view of a line.
func laid(t *testing.T, line string) (list []string, view session.View) {
	t.Helper()
	for _, l := range adapters.Lines(t, []byte(line+"\n")) {
		adapter.View(New(), adapter.State{Path: sessionFile}, l, func(_ *session.Entry, v *session.View) {
			view = *v
			view.Diff = append([]byte(nil), v.Diff...)
			for _, b := range v.Blocks {
				switch {
				case b.Call != nil:
					s := fmt.Sprintf("%s %s(%s)", b.Kind, b.Call.Tool, b.Call.Command)
					for _, a := range b.Call.Arguments {
						s += fmt.Sprintf(" %s=%s", a.Name, a.Value)
					}
					for _, e := range b.Call.Edits {
						s += fmt.Sprintf(" [%s: %s > %s %t]", e.Path, e.Old, e.New, e.Whole)
					}
					list = append(list, s)
				case b.Image != nil:
					list = append(list, fmt.Sprintf("%s image %s %d %s", b.Kind, b.Image.MimeType, b.Image.Size, b.Image.Base64))
				case b.Shell != nil:
					list = append(list, fmt.Sprintf("%s $ %s", b.Kind, b.Shell.Command))
				default:
					list = append(list, fmt.Sprintf("%s %s", b.Kind, b.Text))
				}
			}
		})
	}
	return list, view
}

func TestView(t *testing.T) {
	call := func(tool, input string) string { return reply("a", "u", "m", callBlockOf("c", tool, input), 1) }
	for _, tt := range []struct {
		line string
		want []string
	}{
		{user("u", "", `[{"type":"text","text":"<system-reminder>be brief</system-reminder>see"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"QQ=="}}]`, `"novelty":"newt"`),
			[]string{"system be brief", "prompt see", "prompt image image/png 1 QQ==", "other newt"}},
		{user("u", "", `"<bash-input>ls</bash-input><bash-stdout>a.go</bash-stdout>"`), []string{"shell $ ls", "shell a.go"}},
		{reply("a", "u", "m", `{"type":"thinking","thinking":"hm"},`+text("Now.")+","+bash("c"), 1), []string{"thinking hm", "reply Now.", "call Bash(ls) command=ls"}},
		{call("Edit", `{"file_path":"a.go","old_string":"gnu","new_string":"gnat"}`), []string{"call Edit() file_path=a.go old_string=gnu new_string=gnat [a.go: gnu > gnat false]"}},
		{call("Write", `{"file_path":"a.go","content":"gnu"}`), []string{"call Write() file_path=a.go content=gnu [a.go:  > gnu true]"}},
		{call("MultiEdit", `{"file_path":"a.go","edits":[{"old_string":"b","new_string":"c"},{"old_string":"d","new_string":"e"}]}`),
			[]string{`call MultiEdit() file_path=a.go edits=[{"old_string":"b","new_string":"c"},{"old_string":"d","new_string":"e"}] [a.go: b > c false] [a.go: d > e false]`}},
		{call("Edit", `{"file_path":"a.go","edits":[{"old_string":"b"}]}`), []string{`call Edit() file_path=a.go edits=[{"old_string":"b"}]`}},
		{node("f", "u", `"type":"assistant","isApiErrorMessage":true,"message":{"id":"m","role":"assistant","model":"<synthetic>","content":[{"type":"text","text":"API Error"}]}`), []string{"error API Error"}},
		{`{"type":"custom-title","customTitle":"Fix it","sessionId":"s1"}`, []string{"title Fix it"}},
	} {
		got, _ := laid(t, tt.line)
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.line, diff)
		}
	}

	_, view := laid(t, result("r", "a", "c", `"updated"`, `"toolUseResult":{"filePath":"a.go","structuredPatch":[{"oldStart":3,"oldLines":2,"newStart":3,"newLines":2,"lines":[" x","-gnu","+gnat"]}]}`))
	if want := "--- a.go\n+++ a.go\n@@ -3,2 +3,2 @@\n x\n-gnu\n+gnat\n"; string(view.Diff) != want {
		t.Errorf("diff %q, want %q", view.Diff, want)
	}
	if _, view := laid(t, node("s", "", `"type":"system","subtype":"compact_boundary","compactMetadata":{"preTokens":9}`)); view.TokensBefore != 9 {
		t.Errorf("%d tokens before", view.TokensBefore)
	}
}
