// Command pigrep indexes the session files of the pi coding agent and finds
// things in them.
package main

import (
	"os"

	"pigrep/ui/cli"
)

func main() {
	os.Exit(cli.Main())
}
