// Package e2e tests packages together: indexing, searching and auditing whole
// directories of session files, without the program around them. Package program
// below it tests that.
package e2e

import (
	"flag"
	"os"
)

// Properties are checked with fewer random sequences than rapid has by default,
// each of which builds several indexes: every run draws new ones, and the long
// form draws them all. -rapid.checks on the command line goes before this.
func init() {
	if os.Getenv("PIGREP_TORTURE") != "" {
		return
	}
	if err := flag.Set("rapid.checks", "30"); err != nil {
		panic(err)
	}
}
