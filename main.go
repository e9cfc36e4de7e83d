// Command pigrep indexes the session files of coding agents and finds things in
// them.
package main

import (
	"os"

	"pigrep/ui/cli"
)

func main() {
	os.Exit(cli.Main())
}
