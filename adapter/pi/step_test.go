package pi

import (
	"testing"

	"pigrep/internal/session"
)

// What a person or the model says is conversation, and what pi and extensions note is a step.
func TestSteps(t *testing.T) {
	for entry, want := range map[string]session.Step{
		messageLine(`{"role":"user","content":"hi"}`):                                                    session.Talk,
		messageLine(`{"role":"assistant","content":[{"type":"thinking","thinking":"hm"}]}`):              session.Talk,
		messageLine(`{"role":"assistant","content":[],"errorMessage":"x"}`):                              session.Talk,
		messageLine(`{"role":"assistant","content":[{"type":"text","text":" \n"}]}`):                     session.StepEmpty,
		messageLine(`{"role":"toolResult","toolCallId":"c","content":[]}`):                               session.Talk,
		messageLine(`{"role":"bashExecution","command":"ls"}`):                                           session.Talk,
		messageLine(`{"role":"user","content":[{"type":"image","mimeType":"image/png","data":"QQ=="}]}`): session.Talk,
		messageLine(`{"role":"system","content":"You are pi"}`):                                          session.StepPrompt,
		messageLine(`{"role":"custom","customType":"t","content":"seen","display":true}`):                session.Talk,
		messageLine(`{"role":"custom","customType":"t","content":"unseen","display":false}`):             session.StepReminder,
		`{"type":"custom_message","customType":"t","content":"seen","display":true}`:                     session.Talk,
		`{"type":"custom_message","customType":"t","content":"unseen","display":false}`:                  session.StepReminder,
		`{"type":"custom","customType":"t","data":{"a":"b"}}`:                                            session.StepRecord,
		`{"type":"custom","customType":"t"}`:                                                             session.StepEmpty,
		`{"type":"model_change","provider":"p","modelId":"m"}`:                                           session.StepSetting,
		`{"type":"thinking_level_change","thinkingLevel":"high"}`:                                        session.StepSetting,
		`{"type":"context_edit","targetId":"t","replacement":{"content":"instead"}}`:                     session.StepSetting,
		`{"type":"usage","kind":"cache_warming","note":"warm"}`:                                          session.StepTimer,
		`{"type":"mode_change","mode":"plan"}`:                                                           session.StepSetting,
		`{"type":"future","payload":{"text":"new"}}`:                                                     session.StepRecord,
		`{"type":"label","targetId":"t"}`:                                                                session.Talk,
		`{"type":"session_info","name":"n"}`:                                                             session.Talk,
		`{"type":"compaction","summary":"s"}`:                                                            session.Talk,
		`{"kind":"lane","leafId":"t"}`:                                                                   session.StepEmpty,
	} {
		entries, _ := parseAll(t, entry)
		if got := entries[0].Step; got != want {
			t.Errorf("step %d, want %d, of %s", got, want, entry)
		}
	}
}

// What a hook of this program said repeats other sessions, as its answers do.
func TestNotesOfHooks(t *testing.T) {
	for _, typ := range []string{"pigrep", "other"} {
		entries, _ := parseAll(t, `{"type":"custom_message","customType":"`+typ+`","content":"said","display":false}`)
		if parts := entries[0].Parts; len(parts) != 1 || parts[0].Search != (typ == "pigrep") {
			t.Errorf("%s: %+v", typ, parts)
		}
	}
}
