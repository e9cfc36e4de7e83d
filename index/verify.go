package index

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
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
		if err := verifySegment(ctx, s.path); err != nil {
			errs = append(errs, err)
		}
	}
	return errs
}

func verifySegment(ctx context.Context, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return damaged("%s: %v", filepath.Base(path), err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || info.Size() < crc32.Size {
		return damaged("%s is too short", filepath.Base(path))
	}
	sum := crc32.NewIEEE()
	body := io.NewSectionReader(f, 0, info.Size()-crc32.Size)
	buf := make([]byte, 1<<20)
	for {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("verify %s: %w", filepath.Base(path), err)
		}
		n, err := body.Read(buf)
		sum.Write(buf[:n])
		if err == io.EOF {
			break
		}
		if err != nil {
			return damaged("%s: %v", filepath.Base(path), err)
		}
	}
	var want [crc32.Size]byte
	if _, err := f.ReadAt(want[:], info.Size()-crc32.Size); err != nil {
		return damaged("%s: %v", filepath.Base(path), err)
	}
	if binary.BigEndian.Uint32(want[:]) != sum.Sum32() {
		return damaged("%s does not have the checksum it was written with", filepath.Base(path))
	}
	return nil
}
