package session

import (
	"strings"

	"pigrep/internal/human"
)

// Step is the kind of an entry that is not part of the conversation: a step of the machine, which search
// finds and readers skip. Each adapter has a table of its agent's steps.
type Step uint8

// The steps.
const (
	Talk           Step = iota // no step, but conversation: what a person or the model says or does, and notes, names and summaries
	StepEmpty                  // nothing: the entry has no text, or only repeats that something happened
	StepSubagent               // what a subagent did, told in the session that it works for
	StepProgress               // what a tool said while it ran
	StepDetail                 // what else is known of a call
	StepHook                   // of the user's own programs
	StepPrompt                 // a system prompt, which its agent counts as a message
	StepReminder               // what else the agent tells the model
	StepAttachment             // what the agent adds to a prompt
	StepRetry                  // an attempt that failed, before the next one
	StepTimer                  // how long something took
	StepSetting                // what holds from here on
	StepRecord                 // data of the agent or an extension
	lastStep
)

// stepNames are what steps are called: one of them, and several.
var stepNames = [lastStep][2]string{
	StepSubagent: {"step of a subagent", "steps of a subagent"}, StepProgress: {"progress report", "progress reports"},
	StepDetail: {"detail of a call", "details of calls"}, StepHook: {"hook", "hooks"}, StepPrompt: {"system prompt", "system prompts"}, StepReminder: {"instruction", "instructions"},
	StepAttachment: {"attachment", "attachments"}, StepRetry: {"retry", "retries"}, StepTimer: {"timer", "timers"},
	StepSetting: {"setting", "settings"}, StepRecord: {"record", "records"},
}

// counts reports whether an entry counts among the messages of its session. An empty entry counts if it is a
// whole message; other pieces of a message may say something.
func (s Step) counts(whole bool) bool { return s == Talk || s == StepPrompt || s == StepEmpty && whole }

// Steps counts steps that are shown as one line.
type Steps [lastStep]int

// Add counts a step.
func (s *Steps) Add(step Step) { s[min(step, lastStep-1)]++ }

// String returns the steps in words: "41 steps of a subagent · 2 hooks"; "" if there are none to show.
func (s *Steps) String() string {
	var list []string
	for step, n := range s {
		if names := stepNames[step]; n > 0 && names[0] != "" {
			list = append(list, human.Plural(n, names[0], names[1]))
		}
	}
	return strings.Join(list, " · ")
}
