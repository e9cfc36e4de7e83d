package printer

import (
	"io"
	"strings"

	"pigrep/internal/terminal"
)

// Failure is an error for people or programs.
type Failure struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
	// Candidates are what the user may have meant, safe to print.
	Candidates []string `json:"candidates,omitempty"`
}

// Write writes the error on one line and the hint on another, or both as
// {"error":{…}}. A width wraps lines between words; 0 is none.
func (f Failure) Write(w io.Writer, asJSON bool, width int) error {
	f.Message, f.Hint = brief(f.Message), brief(f.Hint)
	if asJSON {
		return encode(w, struct {
			Error Failure `json:"error"`
		}{f})
	}
	s := messageLine("pigrep: ", f.Message, width)
	for _, c := range f.Candidates {
		s += "  " + c + "\n"
	}
	_, err := io.WriteString(w, s+hintLine(f.Hint, width))
	return err
}

// Warning is a message beside the results that stops nothing.
type Warning struct {
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

// Write writes the warning on one line and the hint on another, or both as
// {"warning":{…}}. A width wraps lines between words; 0 is none.
func (n Warning) Write(w io.Writer, asJSON bool, width int) error {
	n.Message, n.Hint = brief(n.Message), brief(n.Hint)
	if asJSON {
		return encode(w, struct {
			Warning Warning `json:"warning"`
		}{n})
	}
	_, err := io.WriteString(w, messageLine("pigrep: ", n.Message, width)+hintLine(n.Hint, width))
	return err
}

// Progress is how far indexing is.
type Progress struct {
	Files       int   `json:"files"` // to index
	Bytes       int64 `json:"bytes"`
	BytesTotal  int64 `json:"bytesTotal"`
	SecondsLeft int   `json:"secondsLeft,omitempty"` // absent if unknown
	First       bool  `json:"first"`                 // there is no index yet
}

// Write writes the progress as {"progress":{…}}.
func (p Progress) Write(w io.Writer) error {
	return encode(w, struct {
		Progress Progress `json:"progress"`
	}{p})
}

// How many bytes of what was typed or read a message repeats.
const (
	wordBytes    = 300
	messageBytes = 2000
)

// brief shortens a message that repeats much. It cuts long words, such as paths, in the middle,
// since their ends say most, and then the end of the message.
func brief(s string) string {
	if len(s) <= wordBytes {
		return s
	}
	var b strings.Builder
	for word := range strings.SplitAfterSeq(s, " ") {
		if len(word) > wordBytes {
			word = strings.ToValidUTF8(word[:wordBytes/2], "") + "…" + strings.ToValidUTF8(word[len(word)-wordBytes/3:], "")
		}
		if b.Len()+len(word) > messageBytes {
			return b.String() + "…"
		}
		b.WriteString(word)
	}
	return b.String()
}

func hintLine(hint string, width int) string {
	if hint == "" {
		return ""
	}
	return messageLine("hint: ", hint, width)
}

func messageLine(label, message string, width int) string {
	line := label + terminal.Clean(message)
	if width > 0 {
		line = strings.Join(foldWords(line, width), "\n")
	}
	return line + "\n"
}
