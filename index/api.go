package index

import (
	"pigrep/index/format"
)

// SchemaVersion is the version of everything in an index.
const SchemaVersion = format.SchemaVersion
