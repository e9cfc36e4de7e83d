// Command man writes the manual of pigrep: a page for each command and topic.
// It is no part of the program, so that what renders the pages is not either.
//
//	go run ./internal/ui/cli/man DIR
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/cpuguy83/go-md2man/v2/md2man"

	"pigrep/internal/ui/cli"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: go run ./internal/ui/cli/man DIR")
		os.Exit(2)
	}
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func write(dir string) error {
	for _, page := range cli.ManPages() {
		section := filepath.Join(dir, fmt.Sprintf("man%d", page.Section))
		if err := os.MkdirAll(section, 0o755); err != nil {
			return err
		}
		path := filepath.Join(section, fmt.Sprintf("%s.%d", page.Name, page.Section))
		if err := os.WriteFile(path, md2man.Render([]byte(page.Text)), 0o644); err != nil {
			return err
		}
	}
	return nil
}
