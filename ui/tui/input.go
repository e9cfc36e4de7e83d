package tui

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"pigrep/internal/files"
	"pigrep/internal/lists"
	"pigrep/internal/terminal"
)

// input is one line of text with a cursor. The text field of bubbles is not used: its
// clipboard looks for programs on the PATH whenever the process starts.
type input struct {
	text string
	at   int    // byte offset of the cursor, between characters
	last string // the last text cut
}

func (i *input) set(text string) {
	i.text, _ = terminal.CleanSpans(text, nil)
	i.at = len(i.text)
}

// insert inserts text at the cursor. White space becomes spaces, and control
// characters are removed.
func (i *input) insert(text string) {
	text, _ = terminal.CleanSpans(text, nil)
	i.text = i.text[:i.at] + text + i.text[i.at:]
	i.at += len(text)
}

// previous returns the start of the character before the cursor.
func (i *input) previous() int {
	start := 0
	for at := 0; at < i.at; {
		start = at
		c, _ := ansi.FirstGraphemeCluster(i.text[at:], ansi.GraphemeWidth)
		at += max(1, len(c))
	}
	return start
}

// next returns the end of the character at the cursor.
func (i *input) next() int {
	c, _ := ansi.FirstGraphemeCluster(i.text[i.at:], ansi.GraphemeWidth)
	return i.at + len(c)
}

func (i *input) left()  { i.at = i.previous() }
func (i *input) right() { i.at = i.next() }
func (i *input) home()  { i.at = 0 }
func (i *input) end()   { i.at = len(i.text) }

func (i *input) wordLeft() {
	word := strings.TrimRightFunc(i.text[:i.at], unicode.IsSpace)
	i.at = len(strings.TrimRightFunc(word, isNoSpace))
}

func (i *input) wordRight() {
	word := strings.TrimLeftFunc(i.text[i.at:], unicode.IsSpace)
	i.at = len(i.text) - len(strings.TrimLeftFunc(word, isNoSpace))
}

func isNoSpace(r rune) bool { return !unicode.IsSpace(r) }

func (i *input) backspace() { i.remove(i.previous(), i.at) }
func (i *input) delete()    { i.remove(i.at, i.next()) }
func (i *input) paste()     { i.insert(i.last) }

// cut returns what removes the text that a movement of the cursor passes, which paste inserts
// again.
func cut(move func(*input)) func(*input) {
	return func(i *input) {
		at := i.at
		move(i)
		from, to := min(at, i.at), max(at, i.at)
		if from < to {
			i.last = i.text[from:to]
		}
		i.remove(from, to)
	}
}

func (i *input) remove(from, to int) {
	i.text = i.text[:from] + i.text[to:]
	i.at = from
}

// render returns the part of the text around the cursor that fits, and the cell of
// the cursor in it.
func (i *input) render(width int) (text string, cursor int) {
	if width <= 1 {
		return "", 0
	}
	cursor = terminal.Width(i.text[:i.at])
	if whole := terminal.Width(i.text); whole < width {
		return i.text, cursor
	}
	from := max(0, cursor-width*3/4)
	text = ansi.Cut(i.text, from, from+width-1)
	if from > 0 {
		text = "…" + ansi.Cut(i.text, from+1, from+width-1)
	}
	return text, min(cursor-from, width-1)
}

// history is the list of earlier queries, kept in a file, one per line, latest last.
// Only its owner can read it. Several processes may append to it at the same time.
type history struct {
	path    string   // "" for none
	queries []string // latest first, without duplicates
}

// maxHistory is how many queries are kept. At twice as many lines the file is
// rewritten.
const maxHistory = 500

func (m *Model) loadHistory() tea.Cmd {
	path := m.history.path
	if path == "" {
		return nil
	}
	return command(func() then {
		list, err := readHistory(path)
		if err != nil {
			return failing(err)
		}
		return func(m *Model) tea.Cmd {
			m.history.queries = list
			return nil
		}
	})
}

// readHistory returns the queries of the file, latest first; none when there is no file.
func readHistory(path string) ([]string, error) {
	out, err := files.FindOutput(path)
	if err == nil && out.Kind != files.File {
		return nil, nil
	}
	var data []byte
	if err == nil {
		data, err = os.ReadFile(out.Path)
	}
	if err != nil {
		return nil, fmt.Errorf("read the history: %w", err)
	}
	var list []string
	seen := make(map[string]bool)
	lines := strings.Split(string(data), "\n")
	for _, line := range slices.Backward(lines) {
		line = terminal.Clean(line)
		if line != "" && !seen[line] && len(list) < maxHistory {
			seen[line] = true
			list = append(list, line)
		}
	}
	if len(lines) <= 2*maxHistory {
		return list, nil
	}
	out.Overwrite = true
	err = out.Replace(0o600, func(w io.Writer) error {
		kept := slices.Clone(list)
		slices.Reverse(kept)
		_, err := io.WriteString(w, strings.Join(kept, "\n")+"\n")
		return err
	})
	if err != nil {
		return list, fmt.Errorf("write the history: %w", err)
	}
	return list, nil
}

// appendHistory appends a query to the file. What is there and is not a file, such as a link
// to /dev/null, turns the history off.
func appendHistory(path, query string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	out, err := files.FindOutput(path)
	if err != nil || out.Kind != files.Missing && out.Kind != files.File {
		return err
	}
	f, err := os.OpenFile(out.Path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	// The file may have been created with another umask.
	if err := f.Chmod(0o600); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	_, err = f.WriteString(query + "\n")
	return err
}

func (m *Model) remember() tea.Cmd {
	text := strings.TrimSpace(m.query.text)
	h := &m.history
	if text == "" || len(h.queries) > 0 && h.queries[0] == text {
		return nil
	}
	h.queries = slices.DeleteFunc(h.queries, func(q string) bool { return q == text })
	h.queries = slices.Insert(h.queries, 0, text)
	path := h.path
	if path == "" {
		return nil
	}
	return command(func() then {
		if err := appendHistory(path, text); err != nil {
			return failing(fmt.Errorf("write the history: %w", err))
		}
		return nil
	})
}

func (m *Model) openHistory() tea.Cmd {
	choices := lists.Map(m.history.queries, func(q string) choice {
		return choice{label: q, do: func(m *Model) tea.Cmd {
			m.query.set(q)
			return nil
		}}
	})
	empty := "there are no earlier queries"
	if m.history.path == "" {
		empty += "; this run keeps them in memory only (--no-history)"
	}
	m.setMenu(newMenu("earlier query", empty, choices))
	return nil
}
