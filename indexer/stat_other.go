//go:build !linux && !darwin

package indexer

import "os"

func (f *File) statIn(_ *os.File, _ string) error {
	info, err := os.Stat(f.Path)
	if err == nil {
		f.setStat(info)
	}
	return err
}
