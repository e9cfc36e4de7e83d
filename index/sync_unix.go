//go:build unix

package index

import (
	"errors"
	"os"
)

// syncDir waits until the names in a directory are on disk.
func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
