package pi_test

import (
	"fmt"
	"io"
	"strings"

	"pigrep/adapter"
	"pigrep/adapter/pi"
	"pigrep/internal/jsonl"
	"pigrep/internal/session"
)

func Example() {
	file := strings.NewReader(`{"type":"session","version":3,"id":"01a1","timestamp":"2026-01-15T10:30:00.000Z","cwd":"/home/u/app"}
{"type":"message","id":"e1","parentId":null,"timestamp":"2026-01-15T10:30:03.000Z","message":{"role":"user","content":"why does it time out?"}}
{"type":"message","id":"e2","parentId":"e1","timestamp":"2026-01-15T10:30:05.000Z","message":{"role":"assistant","content":[{"type":"toolCall","id":"c1","name":"bash","arguments":{"command":"go test","env":{"CI":"1"}}}]}}
{"type":"message","id":"e3","parentId":"e2"
`)
	lines := jsonl.NewReader(file, 0, 0)
	parser := pi.New().Parse(adapter.State{})
	for {
		line, err := lines.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			fmt.Println(err)
			return
		}
		problems := parser.Parse(line, func(e *session.Entry) {
			for _, part := range e.Parts {
				fmt.Printf("%s %s %q\n", e.ID, part.Kind, part.Text)
			}
		})
		for _, p := range problems {
			fmt.Println(p)
		}
	}
	fmt.Println(parser.State().Header.CWD)
	// Output:
	// e1 prompt "why does it time out?"
	// e2 call "bash\ncommand: go test\nenv.CI: 1"
	// line 4, offset 468: JSON ends early
	// /home/u/app
}
