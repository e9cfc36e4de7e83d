package opensearch

import (
	"context"
	"errors"
	"net/http"
	"sync"

	"github.com/klauspost/compress/zstd"

	"pigrep/index/record"
	"pigrep/internal/session"
	"pigrep/remote"
)

// With the record of a session file, which is kept beside its parts, a question needs only the
// lines with hits: the record says what is around them. Audits need no lines.

var (
	packer   = sync.OnceValues(func() (*zstd.Encoder, error) { return zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1)) })
	unpacker = sync.OnceValues(func() (*zstd.Decoder, error) {
		return zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(remote.DefaultBytes))
	})
)

// pack returns a record as a document has it.
func pack(r *session.Record) []byte {
	z, _ := packer() // its options are right
	return z.EncodeAll(record.Pack(r), nil)
}

// unpack returns the record in a document of a session file, if it is of the file's lines, and
// its size in bytes.
func unpack(d *document, s *state) (*session.Record, int, error) {
	z, _ := unpacker() // its options are right
	packed, err := z.DecodeAll(d.Record, nil)
	if err != nil {
		return nil, 0, err
	}
	rec, err := record.Unpack(packed)
	if err == nil && (d.Gen != s.Gen || rec.Path != remote.Name(s.Host, s.Path) || !remote.Usable(rec)) {
		err = errors.New("the record of the session is not one that this version can use")
	}
	return rec, len(packed), err
}

// records returns the documents with the records of session files, by file key. Some may have
// none.
func (a *Archive) records(ctx context.Context, list []*state) (map[string]*document, error) {
	found := make(map[string]*document, len(list))
	docs := make([]object, len(list))
	for i, s := range list {
		docs[i] = object{"_index": a.monthly(s.Month), "_id": recordID(s.FileKey), "routing": s.FileKey}
	}
	if len(docs) == 0 {
		return found, nil
	}
	var answer hits[document]
	if err := a.call(ctx, http.MethodPost, "_mget", object{"docs": docs}, &answer); err != nil {
		return nil, err
	}
	for i := range answer.Docs {
		if d := &answer.Docs[i]; d.err == nil && d.Source.FileKey != "" {
			found[d.Source.FileKey] = &d.Source
		}
	}
	return found, nil
}
