package mcp

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"
)

func TestLineGuard(t *testing.T) {
	t.Parallel()
	good := `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	long := `{"jsonrpc":"2.0","id":7,"method":"x","params":"` + strings.Repeat("x", maxMessage) + `"}`
	for _, test := range []struct{ name, in, passed, answered string }{
		{"a message", good + "\n", good + "\n", ""},
		{"without a newline", good, good + "\n", ""},
		{"white space", "\n  \r\n" + good + "\r\n", good + "\n", ""},
		{"a response", `{"jsonrpc":"2.0","id":1,"result":{}}` + "\n", `{"jsonrpc":"2.0","id":1,"result":{}}` + "\n", ""},
		{"two methods, one of them null", `{"jsonrpc":"2.0","id":9,"method":"ping","METHOD":null,"result":1}` + "\n", `{"jsonrpc":"2.0","id":9,"method":"ping","METHOD":null,"result":1}` + "\n", ""},
		{"no JSON", "hello\n" + good + "\n", good + "\n", `"id":null,"error":{"code":-32700`},
		{"cut off", `{"jsonrpc":"2.0","id":1,` + "\n" + good + "\n", good + "\n", `-32700`},
		{"two in a line", good + good + "\n" + good + "\n", good + "\n", `-32700`},
		{"no object", "[1,2]\n3\n" + good + "\n", good + "\n", `-32600`},
		{"no version", `{"id":5,"method":"ping"}` + "\n" + good + "\n", good + "\n", `"id":5,"error":{"code":-32600`},
		{"no method", `{"jsonrpc":"2.0","id":"a"}` + "\n" + good + "\n", good + "\n", `"id":"a","error":{"code":-32600`},
		{"a strange id", `{"jsonrpc":"2.0","id":{},"method":"ping"}` + "\n" + good + "\n", good + "\n", `"id":null,"error":{"code":-32600`},
		{"too long", long + "\n" + good + "\n", good + "\n", `longer than 16 MiB`},
	} {
		var out bytes.Buffer
		gone, stop := context.WithCancel(t.Context())
		stop() // so that nothing waits for the answers to what is passed
		reader, w := io.Pipe()
		go guard(strings.NewReader(test.in), w, &lineWriter{w: &out, serving: gone, gone: stop})
		passed, err := io.ReadAll(reader)
		if err != nil || string(passed) != test.passed {
			t.Errorf("%s: passed %.200q, %v; want %q", test.name, passed, err, test.passed)
		}
		if (test.answered == "") != (out.Len() == 0) || !strings.Contains(out.String(), test.answered) {
			t.Errorf("%s: answered %q, want %q", test.name, out.String(), test.answered)
		}
	}
}

// An answer that nobody expected, to a request with two methods, does not end the server.
func TestUnexpectedAnswer(t *testing.T) {
	t.Parallel()
	w := &lineWriter{w: io.Discard, serving: t.Context(), gone: func() {}}
	if _, err := w.Write([]byte(`{"jsonrpc":"2.0","id":9,"result":{}}`)); err != nil {
		t.Fatal(err)
	}
	w.finish() // at once
}
