package index

import (
	"pigrep/index/record"
	"pigrep/index/segment"
)

// Names that moved to index/segment and index/record, for package query until it
// uses the new ones. Nothing else may use them.
type (
	Document = segment.Document
	Field    = segment.Field
	FileRuns = segment.FileRuns
	ID       = segment.ID
	Place    = segment.PostingsOffset
	Postings = segment.Postings
	Segment  = segment.Segment

	Entry     = record.Entry
	FactParts = record.FactParts
	FactSet   = record.FactSet
	Outline   = record.Outline
	Piece     = record.Piece
)

const (
	FieldText     = segment.FieldText
	FieldFile     = segment.FieldFile
	FieldKind     = segment.FieldKind
	FieldRole     = segment.FieldRole
	FieldTool     = segment.FieldTool
	FieldProvider = segment.FieldProvider
	FieldModel    = segment.FieldModel
	FieldCustom   = segment.FieldCustom
	FieldEntry    = segment.FieldEntry
	FieldFlag     = segment.FieldFlag

	FlagCut   = segment.FlagCut
	FlagError = segment.FlagError
	NoFile    = segment.NoFile

	FactUsages  = record.FactUsages
	FactCalls   = record.FactCalls
	FactDetails = record.FactDetails
)

// FileTerm is segment.FileTerm.
var FileTerm = segment.FileTerm
