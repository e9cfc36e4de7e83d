package index

import (
	"io/fs"

	"pigrep/index/layout"
)

// Names in an index directory.
const (
	lockName         = "lock"
	segmentsName     = "segments"
	segmentName      = "%012x" // and segment.Ext
	currentName      = "current"
	generationPrefix = "gen-"
	generationName   = generationPrefix + "%06d"
	manifestName     = "manifest"
	stateName        = "state"
	duplicatesName   = "copies"
	tempExt          = layout.TempExt
)

// Permissions of everything in an index: it holds what people said.
const (
	dirMode  fs.FileMode = 0o700
	fileMode fs.FileMode = 0o600
)
