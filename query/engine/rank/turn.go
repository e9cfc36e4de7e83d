package rank

import (
	"slices"

	"pigrep/index/record"
	"pigrep/internal/session"
	"pigrep/query/engine/entry"
	"pigrep/query/engine/match"
)

// longestTurn is how many entries of a turn are searched for its end.
const longestTurn = 2000

// replies returns the entries of the agent in the turn that a prompt begins, the last one first. They may
// say nothing, and only call tools.
func replies(o *record.Outline, prompt int64) (list []record.Entry) {
	turn := make(map[string]bool) // its entries
	for e := range o.From(prompt) {
		if e.Offset != prompt && (e.Aside || e.Apart || e.HasParent && !turn[e.ParentID]) {
			continue // on another branch
		}
		if e.Offset != prompt && e.Role == session.RoleUser || len(turn) == longestTurn {
			break
		}
		if turn[e.ID] = true; e.Role == session.RoleAssistant {
			list = append(list, e)
		}
	}
	slices.Reverse(list)
	return list
}

// answers joins prompts and the replies that end their turns: who finds the question wants the answer, and
// a question is better the more of the query its answer has.
func (r *reranker) answers() {
	times := func(i int, gain float32) {
		r.all[i].turn *= gain
		r.top[i].score *= gain
	}
	for i, prompt := range r.top {
		if r.kinds[i] != session.KindPrompt {
			continue
		}
		r.resolve(prompt)
		var later []int // replies
		for k, c := range r.top {
			if r.kinds[k] == session.KindReply && c.file == prompt.file && 0 < c.score && r.resolve(c).offset > prompt.offset {
				later = append(later, k)
			}
		}
		if len(later) == 0 {
			continue
		}
		list := replies(r.outline(prompt.file, r.segs[prompt.segment]), prompt.offset)
		for _, e := range list[:min(lastReplies, len(list))] {
			at := slices.IndexFunc(later, func(k int) bool { return r.top[k].offset == e.Offset })
			if at < 0 {
				continue
			}
			k, asked := later[at], prompt.score
			reply := r.top[k]
			if !r.plan.WantsLatest { // an earlier decision must not rise by the words of its answer
				times(i, float32(1+answeredGain*r.weightOf(reply.mask&^prompt.mask)))
			}
			times(k, (reply.score+askedShare*asked)/reply.score)
			break
		}
	}
}

// Answer reads the last entry of the agent with a text in the turn that a hit in a prompt begins, and finds
// the words of the query in it. ok is false if there is none.
func (r *Result) Answer(w *Worker, h *Hit, use func(e *record.Entry, p *session.Part, spans []match.Span)) (ok bool) {
	list := replies(h.Outline, h.Node.Offset)
	w.use(r.s.snapshot, r.s.source(h.Candidate))
	w.Limit = rerankEntry
	for i := range list[:min(lastReplies, len(list))] {
		_ = w.Read(entry.RefOf(&list[i].Node, list[i].Context), entry.Identity{ID: list[i].ID}, func(e *session.Entry) {
			for k := range e.Parts {
				if p := &e.Parts[k]; p.Kind == session.KindReply && len(p.Text) > 0 && !ok {
					spans, _ := w.Finder.Find(p.Text)
					use(&list[i], p, spans)
					ok = true
				}
			}
		})
		if ok {
			break
		}
	}
	return ok // an answer that can no longer be read is none
}
