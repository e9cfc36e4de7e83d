package index

import (
	"encoding/binary"
	"hash/fnv"
	"os"
	"path/filepath"
)

// The engine keeps its state in a bbolt file, whose pages are mapped into memory
// and have no checksums. Pages beyond the end of a truncated file would fault on
// goroutines of the engine, where nothing can contain it; the two meta pages say
// how long the file must be.
const (
	boltMagic   = 0xED0CDAED
	boltMetaLen = 64
	boltMetaAt  = 16 // after the page's header
)

// checkRoot looks whether the engine's state file can be opened at all.
func checkRoot(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	bad := damaged("%s is not as it was written", filepath.Base(path))
	length, txid := int64(-1), uint64(0)
	pageSize := int64(os.Getpagesize())
	for _, at := range []int64{0, pageSize} {
		var m [boltMetaLen]byte
		if _, err := f.ReadAt(m[:], at+boltMetaAt); err != nil {
			continue
		}
		word := func(at int) uint64 { return binary.NativeEndian.Uint64(m[at:]) }
		h := fnv.New64a()
		_, _ = h.Write(m[:56])
		if binary.NativeEndian.Uint32(m[:]) != boltMagic || word(56) != h.Sum64() {
			continue
		}
		if length < 0 || word(48) > txid {
			txid = word(48)
			length = int64(word(40)) * int64(binary.NativeEndian.Uint32(m[8:]))
		}
	}
	if length < 0 || info.Size() < length {
		return bad
	}
	return nil
}
