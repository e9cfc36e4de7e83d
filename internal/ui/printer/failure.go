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
	// Candidates are what the person may have meant, one a line.
	Candidates []string `json:"candidates,omitempty"`
}

// Write writes the error, as one line and the hint as another, or as
// {"error":{…}} on one line.
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

// Warning is something that is no result and stops nothing.
type Warning struct {
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

// Write writes the warning as Failure.Write does an error, with the name warning.
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
