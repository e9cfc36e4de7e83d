// Command man writes the man pages of pigrep: section 1 for commands, section 7 for
// help topics. It is not part of the program, and neither is what renders the pages.
//
//	go run ./ui/cli/man DIR
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/cpuguy83/go-md2man/v2/md2man"
	"github.com/spf13/cobra/doc"

	"pigrep/ui/cli"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: go run ./ui/cli/man DIR")
		os.Exit(2)
	}
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func write(dir string) error {
	commands, topics := filepath.Join(dir, "man1"), filepath.Join(dir, "man7")
	for _, section := range []string{commands, topics} {
		if err := os.MkdirAll(section, 0o755); err != nil {
			return err
		}
	}
	root, pages := cli.Manual()
	if err := doc.GenManTree(root, &doc.GenManHeader{Section: "1", Source: "pigrep", Manual: "pigrep manual"}, commands); err != nil {
		return err
	}
	for _, page := range pages {
		if err := os.WriteFile(filepath.Join(topics, page.Name+".7"), md2man.Render([]byte(page.Text)), 0o644); err != nil {
			return err
		}
	}
	return nil
}
