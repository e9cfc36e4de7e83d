package index

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"path/filepath"
	"pigrep/index/format"
	"slices"
)

// Fields lists the fields that documents are found by.
func Fields() []Field {
	fields := []Field{FieldText}
	for i := range keywords {
		fields = append(fields, keywords[i].name)
	}
	return fields
}

// Keywords calls visit for each keyword that the document is indexed with, but for
// FlagCut, which depends on its text.
func (d *Document) Keywords(visit func(f Field, term string)) {
	for i := range keywords {
		if v := keywords[i].value(d); v != "" {
			visit(keywords[i].name, cut(v))
		}
	}
}

// Walk calls visit for every posting of a field, of live documents only, in term
// order. The term is valid only during the call; frequency and length are 0 for
// keywords.
func (s *Segment) Walk(f Field, visit func(term []byte, doc, freq, length uint32)) error {
	var failed error
	err := s.Terms(f, nil, func(term []byte, _ int) bool {
		p, err := s.Postings(f, term)
		if err != nil {
			failed = err
			return false
		}
		for {
			doc, freq, length, ok := p.Next()
			if !ok {
				failed = p.Err()
				return failed == nil
			}
			if f != FieldText {
				freq, length = 0, 0
			}
			visit(term, doc, freq, length)
		}
	})
	if err == nil {
		err = failed
	}
	return err
}

// Verify reads every byte of the generation's segments and compares it with the
// checksum the segment ends with: CRC-32 (IEEE), big endian, over all before it.
// What the manifest covers was compared on opening. It returns one error for
// each file that is not as it was written.
func (r *Reader) Verify(ctx context.Context) []error {
	var errs []error
	for _, s := range r.segments {
		if err := s.verify(ctx); err != nil {
			errs = append(errs, err)
		}
	}
	return errs
}

// verify compares the segment with its checksum. It reads what is mapped: the name may
// be gone by now.
func (s *Segment) verify(ctx context.Context) (err error) {
	name := filepath.Base(s.path)
	defer format.Contain("verify "+name, &err)()
	defer s.Trim()
	if len(s.data) < crc32.Size {
		return format.Damaged("%s is too short", name)
	}
	body, want := s.data[:len(s.data)-crc32.Size], s.data[len(s.data)-crc32.Size:]
	sum := crc32.NewIEEE()
	for piece := range slices.Chunk(body, 1<<20) {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("verify %s: %w", name, err)
		}
		sum.Write(piece)
	}
	if binary.BigEndian.Uint32(want) != sum.Sum32() {
		return format.Damaged("%s does not have the checksum it was written with", name)
	}
	return nil
}
