package claude

import (
	"encoding/binary"
	"slices"
)

// memo is what a parser remembers of earlier lines: where the conversation is, the
// conversations of subagents in the same file, the prompts that wait in the queue, and the
// commands in the background.
type memo struct {
	CWD, Git string

	tip     string   // the last entry of the branch
	message uint64   // hash of the id of the message that the group is of
	group   []uint64 // hashes of the entries of the last message
	asides  []uint64 // hashes of the entries beside the branch
	sides   []side   // the last one is that of the last line of a subagent
	queue   []queued
	tasks   []task

	encoded []byte // nil if it has changed
}

// side is the conversation of a subagent.
type side struct {
	tip  uint64 // hash of its last entry
	root string // id of its first entry
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
	mostSides      = 8
	mostQueued     = 32
	mostTasks      = 6
	longestID      = 64
	longestPlace   = 400 // directory or branch
)

// remember appends a value to a list that keeps the last n.
func remember[T any](list []T, v T, n int) []T {
	if len(list) >= n {
		list = slices.Delete(list, 0, len(list)-n+1)
	}
	return append(list, v)
}

// short returns a string if it is short enough to be remembered.
func short(s string, limit int) string {
	if len(s) > limit {
		return ""
	}
	return s
}

// bytes returns the memo as a State keeps it, nil if it is empty.
func (m *memo) bytes() []byte {
	if m.encoded == nil {
		m.encoded = m.append(make([]byte, 0, 128))
	}
	if len(m.encoded) == 0 {
		return nil
	}
	return m.encoded
}

func (m *memo) append(b []byte) []byte {
	if m.CWD == "" && m.Git == "" && m.tip == "" && m.message == 0 && len(m.group)+len(m.asides)+len(m.sides)+len(m.queue)+len(m.tasks) == 0 {
		return b
	}
	text := func(s string) {
		b = binary.AppendUvarint(b, uint64(len(s)))
		b = append(b, s...)
	}
	hashes := func(list []uint64) {
		b = binary.AppendUvarint(b, uint64(len(list)))
		for _, h := range list {
			b = binary.LittleEndian.AppendUint64(b, h)
		}
	}
	text(m.CWD)
	text(m.Git)
	text(m.tip)
	b = binary.LittleEndian.AppendUint64(b, m.message)
	hashes(m.group)
	hashes(m.asides)
	b = binary.AppendUvarint(b, uint64(len(m.sides)))
	for _, s := range m.sides {
		b = binary.LittleEndian.AppendUint64(b, s.tip)
		text(s.root)
	}
	b = binary.AppendUvarint(b, uint64(len(m.queue)))
	for _, q := range m.queue {
		b = binary.AppendUvarint(b, uint64(q.offset))
		taken := uint64(0)
		if q.taken {
			taken = 1
		}
		b = binary.AppendUvarint(b, uint64(q.length)<<1|taken)
		b = binary.LittleEndian.AppendUint64(b, q.hash)
	}
	b = binary.AppendUvarint(b, uint64(len(m.tasks)))
	for _, t := range m.tasks {
		text(t.id)
		text(t.call)
	}
	return b
}

// read reads what bytes wrote. Of other bytes it reads what it can.
func (m *memo) read(data []byte) {
	*m = memo{group: m.group[:0], asides: m.asides[:0], sides: m.sides[:0], queue: m.queue[:0], tasks: m.tasks[:0]}
	number := func() uint64 {
		n, size := binary.Uvarint(data)
		if size <= 0 {
			data = nil
			return 0
		}
		data = data[size:]
		return n
	}
	text := func() string {
		n := min(number(), uint64(len(data)))
		s := string(data[:n])
		data = data[n:]
		return s
	}
	hash := func() uint64 {
		if len(data) < 8 {
			data = nil
			return 0
		}
		h := binary.LittleEndian.Uint64(data)
		data = data[8:]
		return h
	}
	if len(data) == 0 {
		return
	}
	whole := data
	m.CWD, m.Git, m.tip, m.message = text(), text(), text(), hash()
	for n := number(); n > 0 && len(data) > 0; n-- {
		m.group = append(m.group, hash())
	}
	for n := number(); n > 0 && len(data) > 0; n-- {
		m.asides = append(m.asides, hash())
	}
	for n := number(); n > 0 && len(data) > 0; n-- {
		m.sides = append(m.sides, side{hash(), text()})
	}
	for n := number(); n > 0 && len(data) > 0; n-- {
		q := queued{offset: int64(number())}
		length := number()
		q.length, q.taken, q.hash = int(length>>1), length&1 == 1, hash()
		m.queue = append(m.queue, q)
	}
	for n := number(); n > 0 && len(data) > 0; n-- {
		m.tasks = append(m.tasks, task{text(), text()})
	}
	m.encoded = whole
}
