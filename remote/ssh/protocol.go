// Package ssh asks other machines of this user: the pigrep there answers, over the stdin and
// stdout of the user's own ssh. Nothing listens on a network, and nothing that a host says is kept.
//
// Both sides write JSON objects, one a line. The host begins with a greeting, a line that
// starts with greetingMark; what its shell prints before is skipped. Then the client sends
// requests, several at once if it likes, and cancels them by their number. The host answers
// each with any number of parts and then an answer or an error:
//
//	> {"id":1,"ask":"search","zone":"Europe/Berlin","host":"laptop","request":{"Text":"timeout"}}
//	< {"id":1,"part":{…}}
//	< {"id":1,"answer":{…}}
//	> {"cancel":1}
//
// Both ends treat what they read as untrusted: lines are bounded, answers are bounded in what they
// become too, and decode makes them safe by their types before anything else sees them. A host ends when its stdin
// does.
package ssh

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"pigrep/remote"
)

// Protocol is the number of the protocol. It changes with each change of a request or of an
// answer that an older program would understand in another way.
const Protocol = 3

// Command is the hidden command of pigrep that answers.
const Command = "__answer"

const greetingMark = `{"pigrep":`

// The bounds of what one side takes from the other.
const (
	maxBefore  = 1 << 20  // bytes before the greeting
	maxRequest = 16 << 20 // bytes of a request
	maxLine    = 32 << 20 // bytes of a part or an answer
	maxAnswer  = 96 << 20 // bytes of memory of an answer, with all parts that are kept until it is complete
	maxText    = 64 << 20 // bytes of the lines of all sessions that are sent for a question
	maxParts   = 4 << 30  // bytes of all parts of an answer; each part counts partCost more
	partCost   = 2 << 10  // bytes
	maxWaits   = 60       // an answer in parts may take this many times Options.Wait in all
	maxAtOnce  = 16       // questions that a host answers at the same time
)

// Greeting is what a host says first.
type Greeting struct {
	Protocol int    `json:"protocol"`
	Version  string `json:"version"`
	Schema   int    `json:"schema"` // of its index
}

type greeting struct {
	Pigrep Greeting `json:"pigrep"`
}

// message is a line of the client.
type message struct {
	ID      int             `json:"id,omitempty"`
	Ask     string          `json:"ask,omitempty"`
	Zone    string          `json:"zone,omitempty"` // in which days begin
	Host    string          `json:"host,omitempty"` // what the client calls the host
	Request json.RawMessage `json:"request,omitempty"`
	Cancel  int             `json:"cancel,omitempty"`
}

// reply is a line of the host after its greeting.
type reply struct {
	ID     int             `json:"id"`
	Part   json.RawMessage `json:"part,omitempty"`
	Answer json.RawMessage `json:"answer,omitempty"`
	Error  *remote.Error   `json:"error,omitempty"`
	Beside json.RawMessage `json:"beside,omitempty"` // what the JSON of the part or the answer leaves out
}

var errLine = errors.New("a line is too long")

// readLine reads a line of at most max bytes. It is valid until the next call.
func readLine(r *bufio.Reader, buf []byte, max int) ([]byte, error) {
	buf = buf[:0]
	for {
		piece, err := r.ReadSlice('\n')
		if len(buf)+len(piece) > max {
			return nil, fmt.Errorf("%w: more than %d MB", errLine, max>>20)
		}
		if err == nil && len(buf) == 0 {
			return piece, nil
		}
		buf = append(buf, piece...)
		switch {
		case err == nil:
			return buf, nil
		case errors.Is(err, io.EOF) && len(buf) > 0:
			return buf, io.ErrUnexpectedEOF
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}
