package index

import (
	"context"
)

// Verify reads every byte of the generation's segments and compares it with the
// checksum the segment ends with: CRC-32 (IEEE), big endian, over all before it.
// What the manifest covers was compared on opening. It returns one error for
// each file that is not as it was written.
func (r *Reader) Verify(ctx context.Context) []error {
	var errs []error
	for _, s := range r.segments {
		if err := s.Verify(ctx); err != nil {
			errs = append(errs, err)
		}
	}
	return errs
}
