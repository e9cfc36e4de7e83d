package index

import (
	"pigrep/index/record"
	"pigrep/index/segment"
)

// Names that moved into the packages below, until their users have followed.
type (
	Document = segment.Document
	Field    = segment.Field
	FileRuns = segment.FileRuns
	ID       = segment.ID
	Place    = segment.Place
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
	FieldCopy     = segment.FieldCopy

	FlagCut   = segment.FlagCut
	FlagError = segment.FlagError
	NoFile    = segment.NoFile

	FactUsages  = record.FactUsages
	FactCalls   = record.FactCalls
	FactDetails = record.FactDetails
)

var (
	CopyTerm = segment.CopyTerm
	Fields   = segment.Fields
	FileTerm = segment.FileTerm
)
