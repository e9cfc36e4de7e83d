package bleve

import (
	"encoding/json"

	"pigrep/index/segment"
)

// Analyzers that every program with Bleve has. They only cut the text of queries: the
// terms in the index are those of index/analysis.
const (
	textAnalyzer    = "standard" // words in lower case, without English stop words
	keywordAnalyzer = "keyword"  // the whole text as one term
)

type documentMapping struct {
	Enabled    bool                        `json:"enabled"`
	Dynamic    bool                        `json:"dynamic"`
	Properties map[string]*documentMapping `json:"properties,omitempty"`
	Fields     []fieldMapping              `json:"fields,omitempty"`
}

type fieldMapping struct {
	Type         string `json:"type"`
	Analyzer     string `json:"analyzer"`
	Index        bool   `json:"index"`
	DocValues    bool   `json:"docvalues,omitempty"`
	SkipFreqNorm bool   `json:"skip_freq_norm,omitempty"`
}

// mappingJSON returns Bleve's description of the fields. A query that names no field
// searches the text.
func mappingJSON() ([]byte, error) {
	properties := make(map[string]*documentMapping)
	for _, f := range segment.Fields() {
		field := fieldMapping{
			Type: "text", Analyzer: keywordAnalyzer, Index: true,
			DocValues: f.Options().IncludeDocValues(), SkipFreqNorm: f.Options().SkipFreqNorm(),
		}
		if f == segment.FieldText {
			field.Analyzer = textAnalyzer
		}
		properties[string(f)] = &documentMapping{Enabled: true, Fields: []fieldMapping{field}}
	}
	return json.Marshal(map[string]any{
		"default_mapping":  documentMapping{Enabled: true, Properties: properties},
		"default_analyzer": textAnalyzer,
		"default_field":    segment.FieldText,
	})
}
