package bleve

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"math/bits"
	"os"
	"path/filepath"

	"go.etcd.io/bbolt"

	"pigrep/index/segment"
)

// bucket is a bucket of root.bolt: by key a value or another bucket.
type bucket map[string]any

func (b bucket) put(in interface {
	CreateBucket([]byte) (*bbolt.Bucket, error)
}, name string) error {
	to, err := in.CreateBucket([]byte(name))
	for key, value := range b {
		if err != nil {
			break
		}
		switch v := value.(type) {
		case bucket:
			err = v.put(to, key)
		case []byte:
			err = to.Put([]byte(key), v)
		}
	}
	return err
}

// writeRoot writes a snapshot into an empty file. The segments must be linked already.
func writeRoot(index *os.Root, name string, s Snapshot) error {
	db, err := bbolt.Open(name, 0o600, &bbolt.Options{
		NoSync: true, NoGrowSync: true, OpenFile: index.OpenFile,
	})
	if err != nil {
		return err
	}
	return errors.Join(db.Update(func(tx *bbolt.Tx) error {
		b, err := s.bucket()
		if err != nil {
			return err
		}
		return bucket{string(appendKey(nil, s.Epoch)): b}.put(tx, "s")
	}), db.Close())
}

// bucket returns what root.bolt has of a snapshot. The bucket of each segment, whose key is
// its number, has the name of the file and what is hidden in it, as a roaring bitmap.
func (s *Snapshot) bucket() (bucket, error) {
	published, err1 := s.Time.UTC().MarshalText()
	mapping, err2 := mappingJSON()
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	b := bucket{
		"m": bucket{
			"type":      []byte(segment.FormatName),
			"version":   binary.BigEndian.AppendUint32(nil, segment.FormatVersion),
			"timeStamp": published,
		},
		"i": bucket{"_mapping": mapping},
	}
	for _, seg := range s.Segments {
		number, link, err := linkOf(filepath.Base(seg.Path()))
		if err != nil {
			return nil, err
		}
		values := bucket{"p": []byte(link)}
		hidden := seg.Hidden()
		if err := seg.Fault(); err != nil {
			return nil, err
		}
		if !hidden.IsEmpty() {
			hidden.RunOptimize()
			if values["d"], err = hidden.ToBytes(); err != nil {
				return nil, err
			}
		}
		b[string(appendKey(nil, number))] = values
	}
	return b, nil
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

// Analyzers that every program with Bleve has. They only cut the text of queries: the
// terms in the index are those of index/analysis.
const (
	textAnalyzer    = "standard" // words in lower case, without English stop words
	keywordAnalyzer = "keyword"  // the whole text as one term
)

// mappingJSON returns Bleve's description of the fields. A query that names no field
// searches the text.
func mappingJSON() ([]byte, error) {
	type object = map[string]any
	properties := make(object)
	for _, f := range segment.Fields() {
		analyzer := keywordAnalyzer
		if f == segment.FieldText {
			analyzer = textAnalyzer
		}
		properties[string(f)] = object{"enabled": true, "dynamic": false, "fields": []object{{
			"type": "text", "analyzer": analyzer, "index": true,
			"docvalues": f.Options().IncludeDocValues(), "skip_freq_norm": f.Options().SkipFreqNorm(),
		}}}
	}
	return json.Marshal(object{
		"default_mapping":  object{"enabled": true, "dynamic": false, "properties": properties},
		"default_analyzer": textAnalyzer,
		"default_field":    segment.FieldText,
	})
}
