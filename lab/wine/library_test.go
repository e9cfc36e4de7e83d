package main

import (
	"bytes"
	"debug/pe"
	"testing"
)

// A reader of such files finds one section, with the export table and its names.
func TestStandIn(t *testing.T) {
	f, err := pe.NewFile(bytes.NewReader(standIn()))
	if err != nil {
		t.Fatal(err)
	}
	h, ok := f.OptionalHeader.(*pe.OptionalHeader64)
	if !ok || f.Machine != pe.IMAGE_FILE_MACHINE_AMD64 || len(f.Sections) != 1 {
		t.Fatalf("header %+v, %d sections", f.FileHeader, len(f.Sections))
	}
	s := f.Sections[0]
	data, err := s.Data()
	if err != nil {
		t.Fatal(err)
	}
	exports := h.DataDirectory[pe.IMAGE_DIRECTORY_ENTRY_EXPORT]
	if exports.VirtualAddress != s.VirtualAddress || exports.Size != s.VirtualSize || int(s.VirtualSize) > len(data) {
		t.Errorf("exports %+v, section %+v", exports, s.SectionHeader)
	}
	if !bytes.HasSuffix(data[:s.VirtualSize], []byte("bcryptprimitives.dll\x00ProcessPrng\x00advapi32.SystemFunction036\x00")) {
		t.Errorf("names: %q", data[:s.VirtualSize])
	}
}
