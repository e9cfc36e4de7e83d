package bleve

import (
	"encoding/binary"
	"errors"
	"math/bits"
	"os"
	"path/filepath"

	"go.etcd.io/bbolt"

	"pigrep/index/segment"
)

// root.bolt has these buckets, with these keys:
//
//	s             snapshots
//	  EPOCH       one snapshot
//	    m         type and version of the segments; timeStamp
//	    i         _mapping: the mapping, in JSON
//	    SEGMENT   p: name of the file; d: what is hidden, as a roaring bitmap
//
// EPOCH and SEGMENT are numbers, encoded by appendKey.
var (
	snapshotsKey = []byte("s")
	metaKey      = []byte("m")
	typeKey      = []byte("type")
	versionKey   = []byte("version")
	timeKey      = []byte("timeStamp")
	internalKey  = []byte("i")
	mappingKey   = []byte("_mapping")
	pathKey      = []byte("p")
	deletedKey   = []byte("d")
)

// writeRoot writes a snapshot into an empty file. The segments must be linked already.
func writeRoot(index *os.Root, name string, s Snapshot) error {
	db, err := bbolt.Open(name, 0o600, &bbolt.Options{
		NoSync: true, NoGrowSync: true, OpenFile: index.OpenFile,
	})
	if err != nil {
		return err
	}
	return errors.Join(db.Update(func(tx *bbolt.Tx) error { return putSnapshot(tx, s) }), db.Close())
}

func putSnapshot(tx *bbolt.Tx, s Snapshot) error {
	snapshots, err := tx.CreateBucket(snapshotsKey)
	if err != nil {
		return err
	}
	snapshot, err := snapshots.CreateBucket(appendKey(nil, s.Epoch))
	if err != nil {
		return err
	}
	published, err := s.Time.UTC().MarshalText()
	if err != nil {
		return err
	}
	if err := putBucket(snapshot, metaKey, []pair{
		{typeKey, []byte(segment.FormatName)},
		{versionKey, binary.BigEndian.AppendUint32(nil, segment.FormatVersion)},
		{timeKey, published},
	}); err != nil {
		return err
	}
	mapping, err := mappingJSON()
	if err != nil {
		return err
	}
	if err := putBucket(snapshot, internalKey, []pair{{mappingKey, mapping}}); err != nil {
		return err
	}
	for _, seg := range s.Segments {
		number, link, err := linkOf(filepath.Base(seg.Path()))
		if err != nil {
			return err
		}
		values := []pair{{pathKey, []byte(link)}}
		hidden, err := seg.Hidden()
		if err != nil {
			return err
		}
		if !hidden.IsEmpty() {
			hidden.RunOptimize()
			deleted, err := hidden.ToBytes()
			if err != nil {
				return err
			}
			values = append(values, pair{deletedKey, deleted})
		}
		if err := putBucket(snapshot, appendKey(nil, number), values); err != nil {
			return err
		}
	}
	return nil
}

type pair struct{ key, value []byte }

func putBucket(parent *bbolt.Bucket, name []byte, values []pair) error {
	b, err := parent.CreateBucket(name)
	if err != nil {
		return err
	}
	for _, p := range values {
		if err := b.Put(p.key, p.value); err != nil {
			return err
		}
	}
	return nil
}

// appendKey appends a number in Bleve's encoding, in which keys sort as numbers do. Up to
// 109, that is one byte: 136 plus the number. A larger number is 245 plus its length in
// bytes, then the number in big endian.
func appendKey(b []byte, v uint64) []byte {
	if v <= 109 {
		return append(b, 136+byte(v))
	}
	length := (bits.Len64(v) + 7) / 8
	b = append(b, 245+byte(length))
	for i := length - 1; i >= 0; i-- {
		b = append(b, byte(v>>(8*i)))
	}
	return b
}
