package printer

import (
	"fmt"
	"slices"
	"strings"

	"pigrep/scope"
)

// Version says which pigrep this is.
type Version struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
	Adapter  string `json:"adapter"`
	// IndexSchema is the version of the index that it reads and writes.
	IndexSchema int `json:"indexSchema"`
}

func (v *Version) json(j *jsonWriter) {
	var scopes any
	if !j.lines {
		scopes = struct {
			Scopes []scope.Scope `json:"scopes"`
		}{scope.Scopes}
	}
	j.object("version", v, scopes)
}

func (v *Version) text(t *text) {
	parts := slices.DeleteFunc([]string{v.Revision, v.Go, v.Platform, fmt.Sprintf("index schema %d", v.IndexSchema)}, func(s string) bool { return s == "" })
	t.print("pigrep ", v.Version, " (", strings.Join(parts, ", "), ")\n")
}
