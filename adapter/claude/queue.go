package claude

import (
	"bytes"
	"slices"

	"github.com/cespare/xxhash/v2"

	"pigrep/adapter"
	"pigrep/internal/jsonl"
	"pigrep/internal/session"
)

// A prompt that is typed while a turn runs is written when it enters the queue, and again when
// it leaves it: in the line of a user, or in an attachment. Versions up to 2.1.63 do not write
// it again if it is taken into the running turn.

// readQueue reads what happened to the queue.
func (p *parser) readQueue() {
	e, m, content := &p.Entry, &p.memo, p.all.Find("content")
	operation := p.JSON.Name(p.all.Find("operation"))
	e.CustomType = operation
	p.notKnown(p.all, lineKeys, "operation", "content")
	switch operation {
	case "enqueue":
		p.readBlocks(content, session.KindPrompt)
		p.writeUser()
		e.Pending = true
		if text := p.typed(); len(text) > 0 {
			m.queue = adapter.Remember(m.queue, queued{offset: e.Offset, length: len(text), hash: xxhash.Sum64(text)}, mostQueued)
		}
	case "remove":
		// It is the first one, unless the line says which.
		i := slices.IndexFunc(m.queue, func(q queued) bool { return !q.taken })
		if text := bytes.TrimSpace(p.JSON.Text(content)); len(text) > 0 {
			hash := xxhash.Sum64(text)
			i = slices.IndexFunc(m.queue, func(q queued) bool { return !q.taken && q.hash == hash && q.length == len(text) })
		}
		if i >= 0 {
			m.queue[i].taken = true
		}
	}
	if operation != "enqueue" {
		p.Part(session.KindData, content)
	}
}

// readQueued reads the attachment with a prompt that was taken from the queue.
func (p *parser) readQueued(all jsonl.Fields) {
	e, v := &p.Entry, all.Find("prompt")
	if mode := p.JSON.Name(all.Find("commandMode")); mode == "task-notification" {
		e.Type = session.TypeCustomMessage
		p.readBlocks(v, session.KindNote)
		p.writeBlocks()
	} else {
		p.readBlocks(v, session.KindPrompt)
		p.writeUser()
	}
	p.notKnown(all, queuedKeys)
	p.shadow(true)
}

var queuedKeys = adapter.NewKeys("type prompt commandMode source_uuid origin isMeta imagePasteIds promptId timestamp uuid")

// typed returns the text of the prompt that has been read as the user typed it, without the
// space around it.
func (p *parser) typed() []byte {
	var text []byte
	for i := range p.blocks {
		if b := &p.blocks[i]; len(b.text) > 0 && (b.sort == textBlock || b.sort == commandBlock) {
			if text != nil {
				text = append(append(slices.Clip(text), '\n'), b.text...)
				continue
			}
			text = b.text
		}
	}
	return bytes.TrimSpace(text)
}

// shadow says which prompts in the queue the entry that has been read repeats. Several that
// waited together may be one prompt, with a line each. An attachment repeats those that were
// taken into the running turn, too.
func (p *parser) shadow(taken bool) {
	m := &p.memo
	if len(m.queue) == 0 {
		return
	}
	for text := p.typed(); len(text) > 0; {
		i := slices.IndexFunc(m.queue, func(q queued) bool {
			return (taken || !q.taken) && q.length <= len(text) && (q.length == len(text) || text[q.length] == '\n') && xxhash.Sum64(text[:q.length]) == q.hash
		})
		if i < 0 {
			return
		}
		p.Entry.Shadows = append(p.Entry.Shadows, m.queue[i].offset)
		text = bytes.TrimSpace(text[m.queue[i].length:])
		m.queue = slices.Delete(m.queue, i, i+1)
	}
}
