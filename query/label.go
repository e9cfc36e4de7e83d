package query

import (
	"strings"
	"time"

	"pigrep/index/analysis"
)

// labelTest tells entries by the labels that they bear. Later lines give and take
// labels, so the session record knows them.
func labelTest(part string) test {
	t := timeTest(time.Time{}, time.Time{})
	t.label = analysis.Fold(part)
	return t
}

// bears reports whether the entry of a document bears the test's label.
func (s *searcher) bears(t *test, seg *segment, doc uint32, at int32) (bool, error) {
	if len(s.files[at].LabelNames) == 0 {
		return false, nil
	}
	id, ok := seg.ID(doc)
	if !ok {
		return false, nil
	}
	o, err := s.outline(at, seg)
	if err != nil {
		return false, err
	}
	e, ok := o.At(id.Offset)
	label := o.Record.Labels[e.ID]
	return ok && label != "" && strings.Contains(analysis.Fold(label), t.label), nil
}
