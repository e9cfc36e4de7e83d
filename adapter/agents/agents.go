// Package agents lists the agents whose sessions pigrep finds. It is the one place
// that names them: it imports the package of each, and nothing else does.
package agents

import (
	"pigrep/adapter"
	"pigrep/adapter/pi"
)

// All returns the agents, in the order in which they are listed. Files of which
// nothing is known are taken for those of the first.
func All() []adapter.Agent { return []adapter.Agent{pi.New()} }
