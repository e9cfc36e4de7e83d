package record

import "pigrep/internal/session"

// Of is Decode, for package query until it uses the new name. Nothing else may use it.
func (s *FactSet) Of(file uint32, f *session.Facts) error { return s.Decode(file, f) }
