package mcp

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"

	"github.com/cespare/xxhash/v2"
)

// A cursor says where the next page of an answer begins, and of which answer: it
// names the generation of the index and holds a hash of the request. It is no
// secret and gives no rights; the checksum only tells a mangled one.
type cursor struct {
	Generation uint64 `json:"g"`
	Request    uint64 `json:"r"`
	At         int    `json:"a,omitempty"` // items before
	Window     int    `json:"w,omitempty"` // of a search: sessions that were asked for
	Part       int    `json:"p,omitempty"` // of an entry: parts before, and
	Offset     int    `json:"o,omitempty"` // bytes of the text of that part before
	Now        int64  `json:"n,omitempty"` // Unix milliseconds from which relative times count

	relative bool // the request has such times
}

func (c *cursor) encode() string {
	data, err := json.Marshal(c)
	if err != nil {
		panic(err) // numbers always can be
	}
	return base64.RawURLEncoding.EncodeToString(binary.BigEndian.AppendUint64(data, xxhash.Sum64(data)))
}

// decodeCursor returns the cursor of a request, whose hash it must have.
func decodeCursor(text string, request uint64) (*cursor, error) {
	const maxCursor = 400
	bad := &Error{codeCursor, "this is no cursor of pigrep", "use nextCursor of the answer before as it is, or leave cursor out"}
	if len(text) > maxCursor {
		return nil, bad
	}
	data, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(data) < 8 {
		return nil, bad
	}
	data, sum := data[:len(data)-8], binary.BigEndian.Uint64(data[len(data)-8:])
	c := &cursor{}
	if xxhash.Sum64(data) != sum || json.Unmarshal(data, c) != nil || min(c.At, c.Window, c.Part, c.Offset) < 0 {
		return nil, bad
	}
	if c.Request != request {
		return nil, &Error{codeCursor, "this cursor belongs to another request",
			"repeat the request that it came with, and add the cursor; only maxBytes may differ"}
	}
	return c, nil
}

// expired says that the generation of a cursor is gone.
func expired(c *cursor, newest uint64) error {
	return &Error{codeCursorExpired,
		fmt.Sprintf("the index has changed: this cursor is of generation %d, the index is at %d", c.Generation, newest),
		"ask again without the cursor"}
}

// hashRequest identifies a request by its tool and arguments; cursor and maxBytes
// must have been cleared.
func hashRequest(index, tool string, input any) uint64 {
	data, err := json.Marshal(input)
	if err != nil {
		panic(err) // it has just been decoded
	}
	h := xxhash.New()
	for _, s := range []string{index, tool, string(data)} {
		_, _ = fmt.Fprintf(h, "%d:%s", len(s), s)
	}
	return h.Sum64()
}
