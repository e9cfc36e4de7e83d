package mcp

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"

	"github.com/cespare/xxhash/v2"
)

// A cursor is where the next page of an answer begins. The number of the index snapshot and
// a hash of the request identify the answer. A cursor is not secret and grants nothing; its
// checksum only detects damage.
type cursor struct {
	Snapshot uint64 `json:"g"`
	Request  uint64 `json:"r"`
	At       int    `json:"a,omitempty"` // items before it
	Window   int    `json:"w,omitempty"` // of a search: sessions that were requested
	Part     int    `json:"p,omitempty"` // of an entry: parts before it
	Offset   int    `json:"o,omitempty"` // bytes of the text of the part before it
	Now      int64  `json:"n,omitempty"` // Unix milliseconds: what relative times are relative to

	relative bool // the request has relative times
}

func (c *cursor) encode() string {
	data, err := json.Marshal(c)
	if err != nil {
		panic(err) // numbers can always be encoded
	}
	return base64.RawURLEncoding.EncodeToString(binary.BigEndian.AppendUint64(data, xxhash.Sum64(data)))
}

// decodeCursor returns the cursor, which must have the hash of the request.
func decodeCursor(text string, request uint64) (*cursor, error) {
	const maxCursor = 400
	bad := &Error{codeCursor, "not a cursor of pigrep", "use nextCursor of the previous answer unchanged, or omit cursor"}
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
			"repeat the request that returned it and add the cursor; only maxBytes may differ"}
	}
	return c, nil
}

// errExpired is the error for a cursor whose snapshot is gone.
var errExpired = &Error{codeCursorExpired, "the index has changed since the previous page", "ask again without the cursor"}

// hashRequest identifies a request by its tool and arguments; cursor and maxBytes
// must have been cleared.
func hashRequest(index, tool string, input any) uint64 {
	data, err := json.Marshal(input)
	if err != nil {
		panic(err) // it was just decoded
	}
	h := xxhash.New()
	for _, s := range []string{index, tool, string(data)} {
		_, _ = fmt.Fprintf(h, "%d:%s", len(s), s)
	}
	return h.Sum64()
}
