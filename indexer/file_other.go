//go:build !unix

package indexer

import (
	"io/fs"
	"os"
)

func identity(fs.FileInfo) (fileID, bool) { return fileID{}, false }

func openFile(path string) (*os.File, error) { return os.Open(path) }
