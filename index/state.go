package index

import (
	"path/filepath"
	"slices"
	"strings"
	"unsafe"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/cespare/xxhash/v2"

	"pigrep/index/format"
	"pigrep/index/record"
	"pigrep/index/segment"
)

// The file state of a generation has its deleted documents and the table of summaries, in
// the primitives of index/format:
//
//	uint  number of segments with deleted documents, then for each:
//	      string name, string deleted documents, as a roaring bitmap
//	the table of summaries (record.Table), to the end
//
// Its hash is in the manifest.

func encodeState(segments []*segment.Segment, t *record.Table) ([]byte, error) {
	var list []byte
	n := uint64(0)
	for _, s := range segments {
		if s.Deleted() == nil {
			continue
		}
		docs, err := s.Deleted().ToBytes()
		if err != nil {
			return nil, err
		}
		list = format.AppendString(format.AppendString(list, filepath.Base(s.Path())), string(docs))
		n++
	}
	return t.AppendTo(append(format.AppendUint(nil, n), list...)), nil
}

// decodeState is the inverse of encodeState. The table is a part of b.
func decodeState(b []byte) (deleted map[string]*roaring.Bitmap, table []byte, err error) {
	bad := format.Damaged("state of a generation")
	d := format.NewDecoder(unsafe.String(unsafe.SliceData(b), len(b)))
	n := d.Items(2)
	deleted = make(map[string]*roaring.Bitmap, n)
	for range n {
		name, docs := strings.Clone(d.String()), roaring.New()
		if err := docs.UnmarshalBinary([]byte(d.String())); err != nil || d.Failed() {
			return nil, nil, bad
		}
		deleted[name] = docs
	}
	if d.Failed() {
		return nil, nil, bad
	}
	return deleted, b[d.Offset():], nil
}

// checkState compares the state with its checksum and decodes it.
func (g *generation) checkState(b []byte) (deleted map[string]*roaring.Bitmap, table []byte, err error) {
	read := listedFile{stateName, segment.Fingerprint{Size: int64(len(b)), Hash: xxhash.Sum64(b)}}
	if !slices.Contains(g.files, read) {
		return nil, nil, format.Damaged("%s in generation %d is not as it was written", stateName, g.Number)
	}
	return decodeState(b)
}
