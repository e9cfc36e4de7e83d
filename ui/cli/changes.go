package cli

import (
	"pigrep/indexer"
	"pigrep/ui/cli/snapshot"
	"pigrep/ui/printer"
)

func fileErrors(list []indexer.FileError) []printer.FileError {
	var all []printer.FileError
	for _, e := range list {
		all = append(all, printer.FileError{Path: e.Path, Reason: snapshot.Reason(e.Err)})
	}
	return all
}

// changeCounts lists the changes that happened, in the order of indexer.Changes.
func changeCounts(counts map[indexer.Change]int) []printer.ChangeCount {
	var all []printer.ChangeCount
	for _, c := range indexer.Changes() {
		if n := counts[c]; n > 0 {
			all = append(all, printer.ChangeCount{Change: c.String(), Files: n})
		}
	}
	return all
}
