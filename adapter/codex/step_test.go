package codex

import (
	"testing"

	"pigrep/adapter"
	"pigrep/internal/session"
	"pigrep/lab/adapters"
)

// What a person or the model says is conversation, and what Codex notes for itself is a step.
func TestSteps(t *testing.T) {
	line := func(typ, payload string) string {
		return `{"timestamp":"2026-01-02T03:04:05.678Z","type":"` + typ + `","payload":{"type":` + payload + `}}`
	}
	item := func(payload string) string { return line("response_item", payload) }
	event := func(payload string) string { return line("event_msg", payload) }
	said := func(role, text string) string {
		return item(`"message","role":"` + role + `","content":[{"type":"input_text","text":"` + text + `"}]`)
	}
	for line, want := range map[string]session.Step{
		said("user", "make it blue"):                                                         session.Talk,
		said("assistant", "done"):                                                            session.Talk,
		said("user", "<environment_context>x</environment_context>"):                         session.StepReminder,
		said("developer", "be brief"):                                                        session.StepReminder,
		said("user", "<user_shell_command>ls</user_shell_command>"):                          session.Talk,
		said("user", "<turn_aborted>x</turn_aborted>"):                                       session.Talk,
		item(`"reasoning","summary":[],"encrypted_content":"gAAA"`):                          session.StepEmpty,
		item(`"reasoning","summary":[{"type":"summary_text","text":"hm"}]`):                  session.Talk,
		item(`"function_call","name":"shell","call_id":"c","arguments":"{}"`):                session.Talk,
		item(`"function_call_output","call_id":"c","output":""`):                             session.Talk,
		item(`"ghost_snapshot","ghost_commit":{"name":"x"}`):                                 session.StepRecord,
		event(`"error","message":"stream ended"`):                                            session.Talk,
		event(`"turn_aborted","reason":"interrupted"`):                                       session.Talk,
		event(`"exec_command_end","call_id":"c","stdout":"more than the result"`):            session.StepDetail,
		event(`"hook_completed","name":"lint"`):                                              session.StepHook,
		event(`"collab_agent_spawn_end","prompt":"look"`):                                    session.StepSubagent,
		event(`"sub_agent_activity","text":"looks"`):                                         session.StepSubagent,
		event(`"item_completed","item":{"type":"CommandExecution","aggregated_output":"x"}`): session.StepDetail,
		event(`"token_count","info":null`):                                                   session.StepEmpty,
		event(`"new_in_a_later_version","text":"x"`):                                         session.StepRecord,
		line("turn_context", `"x","model":"gpt-5","effort":"high"`):                          session.StepSetting,
		line("compacted", `"x","message":"what was done"`):                                   session.Talk,
	} {
		entries := adapters.Parse(t, New(), adapter.State{Path: "/rollout.jsonl"}, []byte(line+"\n")).Entries
		if got := entries[0].Step; got != want {
			t.Errorf("step %d, want %d, of %s", got, want, line)
		}
	}
}
