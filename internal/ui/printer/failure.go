package printer

import (
	"io"

	"pigrep/internal/terminal"
)

// Failure is an error for people or programs.
type Failure struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
	// Candidates are what the user may have meant.
	Candidates []string `json:"candidates,omitempty"`
}

// Write writes the error on one line and the hint on another, or both as
// {"error":{…}}.
func (f Failure) Write(w io.Writer, asJSON bool) error {
	if asJSON {
		return encode(w, struct {
			Error Failure `json:"error"`
		}{f})
	}
	s := "pigrep: " + terminal.Clean(f.Message) + "\n"
	for _, c := range f.Candidates {
		s += "  " + terminal.Clean(c) + "\n"
	}
	_, err := io.WriteString(w, s+hintLine(f.Hint))
	return err
}

// Warning is a message beside the results that stops nothing.
type Warning struct {
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

// Write writes the warning on one line and the hint on another, or both as
// {"warning":{…}}.
func (n Warning) Write(w io.Writer, asJSON bool) error {
	if asJSON {
		return encode(w, struct {
			Warning Warning `json:"warning"`
		}{n})
	}
	_, err := io.WriteString(w, "pigrep: "+terminal.Clean(n.Message)+"\n"+hintLine(n.Hint))
	return err
}

func hintLine(hint string) string {
	if hint == "" {
		return ""
	}
	return "hint: " + terminal.Clean(hint) + "\n"
}
