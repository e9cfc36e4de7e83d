package index

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"

	"github.com/cespare/xxhash/v2"
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

// The engine follows what its state file says without a check. When a writer ends
// it leaves the file's xxhash beside it, for the next one to compare before it lets
// the engine open the file; from then on until it ends itself there is none, so that
// a writer that is killed leaves nothing that the file could differ from. The hash
// comes with one of itself, without which it says nothing.
const rootSumName = "root.sum"

// rootBuffer is the memory that reading the state file takes, which may be some
// megabytes.
const rootBuffer = 64 << 10

func encodeRootSum(sum uint64) []byte {
	s := fmt.Sprintf("%016x", sum)
	return fmt.Appendf(nil, "%s %016x\n", s, xxhash.Sum64String(s))
}

// sealRoot leaves the hash of the state file, which is closed, in its directory.
func sealRoot(live string) error {
	mark, err := markFile(live, rootFile, make([]byte, rootBuffer))
	if err != nil {
		return err
	}
	f, err := create(filepath.Join(live, rootSumName), encodeRootSum(mark.hash))
	if err != nil {
		return err
	}
	return f.Close() // what a crash leaves of it says nothing
}

// unsealRoot compares the state file with its hash if there is one, and removes
// that.
func unsealRoot(live string) error {
	path := filepath.Join(live, rootSumName)
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var sum uint64
	if n, _ := fmt.Sscanf(string(text), "%x", &sum); n == 1 && string(text) == string(encodeRootSum(sum)) {
		mark, err := markFile(live, rootFile, make([]byte, rootBuffer))
		if err != nil {
			return err
		}
		if mark.hash != sum {
			return damaged("%s is not as it was written", rootFile)
		}
	}
	return os.Remove(path)
}
