package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"
	"time"
)

// maxMessage is the length of the longest message accepted.
const maxMessage = 16 << 20

// A lineGuard passes on lines that are JSON-RPC messages and refuses the others
// itself: without it one bad line would end the server. At the end of the input it
// waits for pending answers, which the server would abandon.
type lineGuard struct {
	in   *bufio.Reader
	out  *lineWriter
	left []byte // of the current line
}

func newLineGuard(in io.Reader, out *lineWriter) *lineGuard {
	return &lineGuard{in: bufio.NewReaderSize(in, 64<<10), out: out}
}

func (*lineGuard) Close() error { return nil }

func (g *lineGuard) Read(p []byte) (int, error) {
	for len(g.left) == 0 {
		line, tooLong, err := g.line()
		if len(bytes.TrimSpace(line)) > 0 || tooLong {
			bad, asks := check(line, tooLong)
			if asks {
				g.out.expect()
			}
			if bad != nil {
				if err := g.out.refuse(bad); err != nil {
					return 0, err
				}
			} else {
				g.left = append(bytes.TrimSpace(line), '\n')
				continue
			}
		}
		if err != nil {
			g.out.finish(grace)
			return 0, err
		}
	}
	n := copy(p, g.left)
	g.left = g.left[n:]
	return n, nil
}

// line reads a line; it keeps nothing of one that is too long.
func (g *lineGuard) line() (line []byte, tooLong bool, err error) {
	for {
		piece, err := g.in.ReadSlice('\n')
		if len(line)+len(piece) > maxMessage {
			line, tooLong = nil, true
		}
		if !tooLong {
			line = append(line, piece...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, tooLong, err
		}
	}
}

// refusal is the answer to a line that is not a message.
type refusal struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Error   struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

// JSON-RPC error codes.
const (
	parseError     = -32700
	invalidRequest = -32600
)

func refuse(id json.RawMessage, code int, message string) *refusal {
	r := &refusal{Version: "2.0", ID: id}
	if id == nil {
		r.ID = json.RawMessage("null")
	}
	r.Error.Code, r.Error.Message = code, message
	return r
}

// grace is how long pending answers may take after the end of the input.
const grace = 3 * time.Second

// check returns why a line is not a message, or nil, and whether it expects an
// answer.
func check(line []byte, tooLong bool) (bad *refusal, asks bool) {
	if tooLong {
		return refuse(nil, invalidRequest, "the message is longer than 16 MiB"), false
	}
	var m struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Method  *string         `json:"method"`
		Result  json.RawMessage `json:"result"`
		Error   json.RawMessage `json:"error"`
	}
	err := json.Unmarshal(line, &m)
	if _, syntax := errors.AsType[*json.SyntaxError](err); syntax {
		return refuse(nil, parseError, "not JSON: "+err.Error()), false
	}
	id := m.ID
	if len(id) > 0 && (id[0] == '{' || id[0] == '[' || id[0] == 't' || id[0] == 'f') {
		return refuse(nil, invalidRequest, "the id of a request is a string or a number"), false
	}
	switch {
	case err != nil:
		return refuse(nil, invalidRequest, "not a message of JSON-RPC 2.0, which is one object"), false
	case m.Version != "2.0":
		return refuse(id, invalidRequest, `not a message of JSON-RPC 2.0: "jsonrpc" is not "2.0"`), false
	case m.Method == nil && m.Result == nil && m.Error == nil:
		return refuse(id, invalidRequest, "not a message of JSON-RPC 2.0: it has no method"), false
	}
	return nil, m.Method != nil && len(id) > 0
}

// lineWriter writes whole messages and counts the requests without an answer. If
// writing fails, the client is gone.
type lineWriter struct {
	gone context.CancelFunc

	mu   sync.Mutex
	w    io.Writer
	err  error
	open int
	done chan struct{} // made by finish, closed when open is 0
}

func newLineWriter(w io.Writer, gone context.CancelFunc) *lineWriter {
	return &lineWriter{w: w, gone: gone}
}

func (w *lineWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n, err := w.w.Write(p)
	if err != nil && w.err == nil {
		w.err = err
		w.gone()
	}
	// Requests of the server have a method near their beginning; answers have none.
	if !bytes.Contains(p[:min(len(p), 200)], []byte(`"method":`)) {
		w.open--
	}
	if (w.open == 0 || err != nil) && w.done != nil {
		close(w.done)
		w.done = nil
	}
	return n, err
}

func (*lineWriter) Close() error { return nil }

// expect counts a request that expects an answer.
func (w *lineWriter) expect() {
	w.mu.Lock()
	w.open++
	w.mu.Unlock()
}

// finish waits until all requests are answered, but at most this long.
func (w *lineWriter) finish(most time.Duration) {
	w.mu.Lock()
	if w.open <= 0 || w.err != nil {
		w.mu.Unlock()
		return
	}
	done := make(chan struct{})
	w.done = done
	w.mu.Unlock()
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	}
}

func (w *lineWriter) failed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err != nil
}

func (w *lineWriter) refuse(r *refusal) error {
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	w.expect()
	_, err = w.Write(append(data, '\n'))
	return err
}
