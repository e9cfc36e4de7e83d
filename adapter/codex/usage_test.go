package codex

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pigrep/internal/session"
	"pigrep/lab/adapters"
)

// usesOf lists what the responses of a file used, and of which model.
func usesOf(r adapters.Read) (list []string) {
	for _, e := range r.Entries {
		if f := e.Facts; f != nil && f.HasUsage {
			list = append(list, fmt.Sprintf("%d/%d %s%s", f.Usage.Input, f.Usage.Output, f.SubModel, map[bool]string{true: " faster"}[f.Usage.Faster]))
		}
	}
	return list
}

func total(input, output int) string {
	return fmt.Sprintf(`"total_token_usage":{"input_tokens":%d,"cached_input_tokens":0,"output_tokens":%d,"total_tokens":%d}`, input, output, input+output)
}

func counted(input, output, lastInput, lastOutput int) string {
	return fmt.Sprintf(`{"type":"token_count","info":{%s,"last_token_usage":{"input_tokens":%d,"output_tokens":%d}}}`, total(input, output), lastInput, lastOutput)
}

// Old versions write only totals: a response used what was added.
func TestTotals(t *testing.T) {
	only := func(input, output int) string {
		return fmt.Sprintf(`{"type":"token_count","info":{%s}}`, total(input, output))
	}
	r := begun().event(only(1000, 100)).event(only(3000, 250)).event(only(3000, 250)).event(counted(3100, 260, 100, 10)).event(only(3200, 300)).
		event(only(50, 5)). // the session was resumed
		parse(t)
	want := []string{"1000/100 openai/gpt-5-codex", "2000/150 openai/gpt-5-codex", "100/10 openai/gpt-5-codex", "100/40 openai/gpt-5-codex", "50/5 openai/gpt-5-codex"}
	if diff := cmp.Diff(want, usesOf(r)); diff != "" {
		t.Errorf("uses (-want +got):\n%s", diff)
	}
}

// A subagent may begin with copies of the last turns of its session. The first of them lacks the lines that
// name the turn and the model.
func TestInheritedTurns(t *testing.T) {
	turn := func(f *file, id string) *file {
		return f.event(fmt.Sprintf(`{"type":"task_started","turn_id":%q}`, id)).line(lineContext, fmt.Sprintf(`{"turn_id":%q,"cwd":"/srv/app","model":"gpt-5.5"}`, id))
	}
	meta := func(id, more string) *file {
		return new(file).line(lineMeta, fmt.Sprintf(`{"id":%q,"timestamp":"2026-11-21T21:00:00.000Z","cwd":"/srv/app","model_provider":"openai"%s}`, id, more))
	}
	first := func(f *file) *file {
		return f.message("user", "one").call("call_aaaaaaaaaaaaaaaaaaaaaaaa", "exec_command", `{"cmd":"ls"}`).event(counted(100, 10, 100, 10))
	}
	second := func(f *file) *file {
		return turn(f, "t2").message("user", "two").event(counted(300, 30, 200, 20))
	}
	parent := second(first(turn(meta(aSession, ""), "t1"))).parse(t)
	child := turn(second(first(meta(another, fmt.Sprintf(`,"source":{"subagent":{"thread_spawn":{"parent_thread_id":%q,"depth":1}}}`, aSession)))), "t3").
		message("user", "three").event(counted(350, 35, 50, 5)).parse(t)
	uses := make(map[uint64]string)
	for _, r := range []adapters.Read{child, parent} {
		for _, e := range r.Entries {
			if f := e.Facts; f != nil && f.HasUsage {
				uses[f.UsageOf] = f.SubModel
			}
		}
	}
	if len(uses) != 3 {
		t.Errorf("%d responses, want 3", len(uses))
	}
	for _, model := range uses {
		if model != "openai/gpt-5.5" {
			t.Errorf("model %q", model)
		}
	}
	for i, e := range parent.Entries[:len(parent.Entries)-1] {
		if e.Copy != 0 && e.Type == session.TypeMessage && i+1 < len(child.Entries) && !contains(child, e.Copy) {
			t.Errorf("no copy of %+v", e)
		}
	}
}

func contains(r adapters.Read, copy uint64) bool {
	for _, e := range r.Entries {
		if e.Copy == copy {
			return true
		}
	}
	return false
}

// Responses at a faster tier say so.
func TestTiers(t *testing.T) {
	settings := func(tier string) string {
		return `{"type":"thread_settings_applied","thread_settings":{"model":"gpt-5.6-sol","service_tier":` + tier + `}}`
	}
	r := begun().event(settings(`"priority"`)).event(counted(100, 10, 100, 10)).event(settings(`null`)).event(counted(200, 20, 100, 10)).
		line(lineContext, `{"cwd":"/srv/app","service_tier":"fast"}`).event(counted(300, 30, 100, 10)).parse(t)
	want := []string{"100/10 openai/gpt-5-codex faster", "100/10 openai/gpt-5-codex", "100/10 openai/gpt-5-codex faster"}
	if diff := cmp.Diff(want, usesOf(r)); diff != "" {
		t.Errorf("uses (-want +got):\n%s", diff)
	}
}
