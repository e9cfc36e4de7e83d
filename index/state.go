package index

import (
	"os"
	"path/filepath"
	"slices"
	"unsafe"

	"pigrep/index/format"
	"pigrep/index/record"
	"pigrep/index/segment"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/cespare/xxhash/v2"
)

// The file state of a generation holds what is known beyond its segments:
//
//	uint  number of segments with deleted documents, then for each of them
//	      string name, string deleted documents, as a roaring bitmap
//	the table, to the end
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
	return slices.Concat(format.AppendUint(nil, n), list, t.Encode()), nil
}

// decodeState is the reverse of encodeState. The table is part of b.
func decodeState(b []byte) (deleted map[string]*roaring.Bitmap, table []byte, err error) {
	bad := format.Damaged("state of a generation")
	d := format.NewDecoder(unsafe.String(unsafe.SliceData(b), len(b)))
	n := d.Items(2)
	deleted = make(map[string]*roaring.Bitmap, n)
	for range n {
		name, docs := d.String(), roaring.New()
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

// readState reads the state of the generation.
func (g *generation) readState() (deleted map[string]*roaring.Bitmap, table []byte, err error) {
	b, err := os.ReadFile(filepath.Join(g.path, stateName))
	if err != nil {
		return nil, nil, err
	}
	if (fileMark{stateName, segment.Fingerprint{Size: int64(len(b)), Hash: xxhash.Sum64(b)}}) != g.markOf(stateName) {
		return nil, nil, g.differs(stateName)
	}
	return decodeState(b)
}
