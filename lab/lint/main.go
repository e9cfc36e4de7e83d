//go:build ignore

// Command lint is go vet and staticcheck in one. Both need facts about every dependency, which
// take most of the time that either takes.
//
//	go run lab/lint/main.go ./...
package main

import (
	"os"

	"golang.org/x/tools/go/analysis/suite/vet"
	"honnef.co/go/tools/lintcmd"
	"honnef.co/go/tools/simple"
	"honnef.co/go/tools/staticcheck"
	"honnef.co/go/tools/stylecheck"
	"honnef.co/go/tools/unused"
)

func main() {
	cmd := lintcmd.NewCommand("lint")
	cmd.ParseFlags(os.Args[1:])
	cmd.AddBareAnalyzers(vet.Suite...)
	cmd.AddAnalyzers(simple.Analyzers...)
	cmd.AddAnalyzers(staticcheck.Analyzers...)
	cmd.AddAnalyzers(stylecheck.Analyzers...)
	cmd.AddAnalyzers(unused.Analyzer)
	cmd.Run()
}
