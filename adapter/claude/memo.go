package claude

import (
	"pigrep/adapter"
)

// memo is what a parser remembers of earlier lines: where the conversation is, the prompts
// that wait in the queue, and the commands in the background.
type memo struct {
	CWD, Git string

	tip     string   // the last entry of the branch
	message uint64   // hash of the id of the message that the group is of
	group   []uint64 // hashes of the entries of the last message
	asides  []uint64 // hashes of the entries beside the branch
	queue   []queued
	tasks   []task
}

// queued is a prompt that was typed while a turn was running.
type queued struct {
	offset int64
	length int    // of its text
	hash   uint64 // of its text
	taken  bool   // into the running turn: no line of a user repeats it
}

// task is a command that goes on in the background.
type task struct{ id, call string }

// Limits of a memo, which keep its size below adapter.MaxMemo. Older entries are forgotten.
const (
	mostRemembered = 48 // entries of a group, and beside the branch
	mostQueued     = 32
	mostTasks      = 8
	longestID      = 64
	longestPlace   = 400 // directory or branch
)

// bytes returns the memo as a State keeps it, nil if it is empty.
func (m *memo) bytes() []byte {
	if m.CWD == "" && m.Git == "" && m.tip == "" && m.message == 0 && len(m.group)+len(m.asides)+len(m.queue)+len(m.tasks) == 0 {
		return nil
	}
	c := adapter.Coder{Data: make([]byte, 0, 128)}
	m.code(&c)
	return c.Data
}

// code says what a State keeps of the memo.
func (m *memo) code(c *adapter.Coder) {
	for _, s := range []*string{&m.CWD, &m.Git, &m.tip} {
		c.Text(s)
	}
	c.Hash(&m.message)
	adapter.List(c, &m.group, c.Hash)
	adapter.List(c, &m.asides, c.Hash)
	adapter.List(c, &m.queue, func(q *queued) {
		adapter.Number(c, &q.offset)
		adapter.Number(c, &q.length)
		c.Flag(&q.taken)
		c.Hash(&q.hash)
	})
	adapter.List(c, &m.tasks, func(t *task) {
		c.Text(&t.id)
		c.Text(&t.call)
	})
}

// read reads what bytes returned. Of other bytes it reads what it can.
func (m *memo) read(data []byte) {
	*m = memo{group: m.group[:0], asides: m.asides[:0], queue: m.queue[:0], tasks: m.tasks[:0]}
	if len(data) > 0 {
		m.code(adapter.NewDecoder(data))
	}
}
