package shellcmd_test

import (
	"fmt"

	"pigrep/adapter"
	"pigrep/adapter/pi"
	"pigrep/internal/session"
	"pigrep/internal/shellcmd"
)

// The facts of a call say which programs its command runs, as the shell would read
// it; an evaluator says which rules it matches.
func ExampleFolder() {
	line := `{"type":"message","id":"e1","parentId":null,"timestamp":"2026-01-15T10:30:05.000Z","message":{"role":"assistant",` +
		`"content":[{"type":"toolCall","id":"c1","name":"bash","arguments":{"command":"cd /tmp && sudo rm -rf build | tee log"}}]}}`
	parser := pi.New().Parse(adapter.State{Header: session.Header{Version: 3, CWD: "/home/u/app"}, Facts: true})
	at := adapter.Line{Data: []byte(line), Raw: []byte(line), Number: 2, Ended: true}
	facts, folder := &session.Facts{}, shellcmd.NewFolder()
	parser.Parse(at, func(e *session.Entry) { folder.Add(facts, e, "/home/u/app") })
	for _, c := range facts.Calls {
		fmt.Println(c.Tool, c.Programs, shellcmd.NewEvaluator().Rules(&c, c.Line, "/home/u/app", "/home/u/app").IDs())
	}
	// Output:
	// bash [cd sudo rm tee] [recursive-delete superuser]
}
