package audit

import (
	"strings"

	"pigrep/internal/redact"
)

// redact masks what looks like a secret in the row.
func (r *CallRow) redact() {
	r.SessionName = redact.Text(r.SessionName)
	if r.Cut {
		r.Arguments = redact.Beginning(r.Arguments)
	} else {
		r.Arguments = redact.Text(r.Arguments)
	}
	if len(r.Result) > 0 {
		r.Result = strings.Split(redact.Text(strings.Join(r.Result, "\n")), "\n")
	}
	redact.Strings(r) // the rest
}
