package mcp

import (
	"bytes"
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"pigrep/internal/terminal"
)

// clean removes control codes from all strings of an answer, because agents print what they read. Most
// codes have already been replaced by escapes; see visible.
func clean(result mcp.Result) {
	switch r := result.(type) {
	case *mcp.CallToolResult:
		for _, c := range r.Content {
			if text, ok := c.(*mcp.TextContent); ok {
				text.Text = terminal.CleanLines(text.Text)
			}
		}
		if data, ok := r.StructuredContent.(json.RawMessage); ok {
			r.StructuredContent = cleanJSON(data)
		}
	case *mcp.ReadResourceResult:
		for _, c := range r.Contents {
			c.URI, c.Text = terminal.CleanLines(c.URI), terminal.CleanLines(c.Text)
		}
	}
}

// cleanJSON cleans the strings of JSON.
func cleanJSON(data json.RawMessage) json.RawMessage {
	var b bytes.Buffer
	for len(data) > 0 {
		at := bytes.IndexByte(data, '"')
		if at < 0 {
			break
		}
		b.Write(data[:at])
		data = data[at:]
		end, plain := 1, true
		for ; end < len(data) && data[end] != '"'; end++ {
			switch c := data[end]; {
			case c == '\\':
				end++
				plain = plain && end < len(data) && bytes.IndexByte([]byte(`"\nt`), data[end]) >= 0
			case c > '~':
				plain = false
			}
		}
		end = min(end+1, len(data))
		text := data[:end]
		data = data[end:]
		var s string
		if !plain && json.Unmarshal(text, &s) == nil {
			var quoted bytes.Buffer
			e := json.NewEncoder(&quoted)
			e.SetEscapeHTML(false)
			_ = e.Encode(terminal.CleanLines(s)) // of a text
			text = bytes.TrimSuffix(quoted.Bytes(), []byte("\n"))
		}
		b.Write(text)
	}
	b.Write(data)
	return b.Bytes()
}
