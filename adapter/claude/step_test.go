package claude

import (
	"testing"

	"pigrep/internal/session"
)

// What a person or the model says is conversation, and what Claude Code notes for itself is a step.
func TestSteps(t *testing.T) {
	user := func(rest string) string { return `{"type":"user","uuid":"u","message":{"role":"user",` + rest }
	reply := func(block string) string {
		return `{"type":"assistant","uuid":"u","message":{"id":"m","role":"assistant","content":[` + block + `]}}`
	}
	attached := func(members string) string {
		return `{"type":"attachment","uuid":"u","attachment":{"type":` + members + `}}`
	}
	for line, want := range map[string]session.Step{
		user(`"content":"hi"}}`):                                                              session.Talk,
		user(`"content":"<bash-input>ls</bash-input>"}}`):                                     session.Talk,
		user(`"content":"<local-command-stdout></local-command-stdout>"}}`):                   session.StepEmpty,
		user(`"content":"<system-reminder>be brief</system-reminder>"}}`):                     session.StepReminder,
		user(`"content":"<system-reminder>be brief</system-reminder>fix it"}}`):               session.Talk,
		user(`"content":"the body of a skill"},"isMeta":true}`):                               session.StepReminder,
		user(`"content":"This session is being continued"},"isCompactSummary":true}`):         session.Talk,
		user(`"content":"[Request interrupted by user]"}}`):                                   session.Talk,
		user(`"content":"Stop hook feedback:\nrun the tests"}}`):                              session.StepHook,
		user(`"content":[{"type":"tool_result","tool_use_id":"c","content":""}]}}`):           session.Talk,
		reply(`{"type":"text","text":"done"}`):                                                session.Talk,
		reply(`{"type":"thinking","thinking":"","signature":"s"}`):                            session.StepEmpty,
		reply(`{"type":"tool_use","id":"c","name":"Bash","input":{"command":"ls"}}`):          session.Talk,
		attached(`"queued_command","prompt":"also this"`):                                     session.Talk,
		attached(`"hook_success","stdout":"ok"`):                                              session.StepHook,
		attached(`"hook_new_in_a_later_version","stdout":"ok"`):                               session.StepHook,
		attached(`"skill_listing","content":"many"`):                                          session.StepReminder,
		attached(`"file","filename":"a.go","content":"package a"`):                            session.StepAttachment,
		attached(`"new_in_a_later_version","content":"x"`):                                    session.StepAttachment,
		`{"type":"progress","uuid":"u","data":{"type":"agent_progress","prompt":"look"}}`:     session.StepSubagent,
		`{"type":"progress","uuid":"u","data":{"type":"hook_progress","command":"lint"}}`:     session.StepHook,
		`{"type":"progress","uuid":"u","data":{"type":"bash_progress","output":"1 of 2"}}`:    session.StepProgress,
		`{"type":"system","uuid":"u","subtype":"turn_duration","content":"took 3 s"}`:         session.StepTimer,
		`{"type":"system","uuid":"u","subtype":"stop_hook_summary","hookInfos":["x"]}`:        session.StepHook,
		`{"type":"system","uuid":"u","subtype":"api_error","error":{"message":"overloaded"}}`: session.StepRetry,
		`{"type":"system","uuid":"u","subtype":"informational","content":"mind this"}`:        session.Talk,
		`{"type":"system","uuid":"u","subtype":"away_summary","content":"while away"}`:        session.Talk,
		`{"type":"system","uuid":"u","subtype":"new_in_a_later_version","content":"x"}`:       session.StepRecord,
		`{"type":"system","uuid":"u","subtype":"compact_boundary","content":"Compacted"}`:     session.StepEmpty,
		`{"type":"permission-mode","permissionMode":"plan"}`:                                  session.StepSetting,
		`{"type":"last-prompt","lastPrompt":"hi","leafUuid":"u"}`:                             session.StepSetting,
		`{"type":"custom-title","customTitle":"auth"}`:                                        session.Talk,
		`{"type":"tag","tag":"wip"}`:                                                          session.Talk,
		`{"type":"queue-operation","operation":"enqueue","content":"also this"}`:              session.Talk,
		`{"type":"queue-operation","operation":"dequeue"}`:                                    session.StepEmpty,
		`{"type":"file-history-snapshot","messageId":"u","snapshot":{}}`:                      session.StepEmpty,
		`{"type":"new-in-a-later-version","text":"x"}`:                                        session.StepRecord,
	} {
		entries, _, _ := parseLines(t, line)
		if got := entries[0].Step; got != want {
			t.Errorf("step %d, want %d, of %s", got, want, line)
		}
	}
}
