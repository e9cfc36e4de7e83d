package segment

import (
	"os"
	"path/filepath"
	"reflect"
	"syscall"
	"testing"

	"github.com/blevesearch/mmap-go"
)

// A segment on a file system that refuses to map files is read as any other.
func TestFileSystemWithoutMapping(t *testing.T) {
	t.Parallel()
	docs := textDocuments("one two", "two three", "four")
	whole := openFile(t, docs...)
	for _, c := range []struct {
		name   string
		err    error
		refuse func(prot int) bool
		mapped bool
	}{
		{"shared mappings", syscall.ENODEV, func(prot int) bool { return prot != mmap.COPY }, true},
		{"all mappings", syscall.ENODEV, func(int) bool { return true }, false},
		{"all mappings, as invalid", syscall.EINVAL, func(int) bool { return true }, false},
	} {
		refuse := func(f *os.File, length, prot, flags int, offset int64) (mmap.MMap, error) {
			if c.refuse(prot) {
				return nil, os.NewSyscallError("mmap", c.err)
			}
			return mmap.MapRegion(f, length, prot, flags, offset)
		}
		content, err := openContent(whole.Path(), refuse)
		if err != nil {
			t.Fatalf("%s are refused: %v", c.name, err)
		}
		if (content.mapped != nil) != c.mapped {
			t.Errorf("%s are refused: mapped %t", c.name, content.mapped != nil)
		}
		s, err := openAs(whole.Path(), content, &whole.fingerprint, nil)
		if err != nil {
			t.Fatalf("%s are refused: %v", c.name, err)
		}
		Share([]*Segment{s}, func() []Duplicates { return nil })
		s.Keep(false) // which unmaps pages; memory must stay as it is
		for _, r := range readings() {
			want, wantErr := r.read(whole)
			got, gotErr := r.read(s)
			if !reflect.DeepEqual(got, want) || (gotErr == nil) != (wantErr == nil) {
				t.Errorf("%s are refused: %s returns %v, %v; want %v, %v", c.name, r.name, got, gotErr, want, wantErr)
			}
		}
		if err := s.Close(); err != nil {
			t.Errorf("%s are refused: close: %v", c.name, err)
		}
	}
}

// Too little memory is no reason to read the file into memory.
func TestMappingWithoutMemory(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "1")
	if err := os.WriteFile(path, []byte("content"), 0o600); err != nil {
		t.Fatal(err)
	}
	full := func(*os.File, int, int, int, int64) (mmap.MMap, error) { return nil, syscall.ENOMEM }
	if c, err := openContent(path, full); err == nil || c.all != nil {
		t.Errorf("%d bytes are read, error %v", len(c.all), err)
	}
}
