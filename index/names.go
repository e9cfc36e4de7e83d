package index

import "pigrep/index/record"

// Names that moved into the packages below, until their users have followed.
type (
	Outline   = record.Outline
	Entry     = record.Entry
	FactSet   = record.FactSet
	FactParts = record.FactParts
	Piece     = record.Piece
)

const (
	FactUsages  = record.FactUsages
	FactCalls   = record.FactCalls
	FactDetails = record.FactDetails
)
