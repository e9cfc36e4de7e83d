package claude

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// leftOut says which members of a line have no part: what they say is in the entry itself, in
// another line, or no text.
var leftOut = regexp.MustCompile(`^(` + strings.Join([]string{
	`type|subtype|uuid|parentUuid|logicalParentUuid|userType|cwd|sessionId|version|gitBranch|timestamp|slug|agentId|entrypoint|level`,
	`requestId|leafUuid|messageId|toolUseID|parentToolUseID|sourceToolAssistantUUID|sourceToolUseID|promptId|permissionMode|promptSource|effort`,
	`error|attribution\w+|origin\..*|thinkingMetadata\..*|todos\..*|snapshot\..*|compactMetadata\..*|direction|trigger|refusedUserMessageUuid`,
	`operation|forkedFrom\..*`,
	`message\.(id|type|role|model|stop_reason|stop_sequence|usage\..*|container.*|context_management.*|diagnostics.*)`,
	`message\.content(\.\d+)?\.(type|id|signature|tool_use_id|caller\..*|source\..*|data)`,
	`message\.content\.\d+\.content\.\d+\.(type|source\..*)`,
	`toolUseResult\.(originalFile|originalFileContents|structuredPatch\..*|oldString|newString|edits\..*|oldTodos\..*|newTodos\..*|prompt|usage\..*|type|agentId)`,
	`toolUseResult\.(content|file\.(content|base64))`,
	`toolUseResult(\.content)?\.\d+\.type`,
	`data\.(type|agentId|taskId|fullOutput|prompt|normalizedMessages.*)`,
	`data\.message\..*(type|role|id|uuid|timestamp|requestId|model|tool_use_id|service_tier|inference_geo|stop_reason|signature|originalFile)`,
	`attachment\.(type|toolUseID|hookEvent|commandMode|content(\.file)?\.type)`,
}, "|") + `)$`)

var tags = regexp.MustCompile(`</?[a-z_-]+>`)

// Every string of a line is in a part of its entry, unless it is on the list.
func TestNoTextIsLost(t *testing.T) {
	for path, data := range inOrder(t) {
		entries, _, _ := parse(t, path, data)
		for _, e := range entries {
			var parts strings.Builder
			for _, part := range e.Parts {
				parts.Write(part.Text)
				parts.WriteByte('\n')
			}
			var line any
			if err := json.Unmarshal(data[e.Offset:e.Offset+int64(e.Length)], &line); err != nil {
				t.Fatal(err)
			}
			walk("", line, func(name, text string) {
				if leftOut.MatchString(name) {
					return
				}
				for _, piece := range tags.Split(strings.TrimPrefix(text, "Error: "), -1) {
					if piece = strings.Trim(piece, " \t\r\n\ufeff"); !strings.Contains(parts.String(), piece) {
						t.Errorf("%s: line %d: %s is in no part: %.200q", path, e.Line, name, piece)
					}
				}
			})
		}
	}
}

// walk calls use for each string in a value, with the names on the way to it.
func walk(name string, v any, use func(name, text string)) {
	switch v := v.(type) {
	case string:
		use(strings.TrimPrefix(name, "."), v)
	case []any:
		for i, v := range v {
			walk(fmt.Sprint(name, ".", i), v, use)
		}
	case map[string]any:
		for key, v := range v {
			walk(name+"."+key, v, use)
		}
	}
}
