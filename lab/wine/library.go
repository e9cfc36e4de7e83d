package main

import (
	"bytes"
	"encoding/binary"
)

// standIn returns bcryptprimitives.dll for a Wine without it. Go's runtime loads one
// function from it, ProcessPrng, before anything else. The library has no code: it
// forwards that name to SystemFunction036 of advapi32.dll, better known as
// RtlGenRandom, which takes the same arguments.
//
// A library is a header, one entry for each section, and the sections, here one with the
// table of exported names. Addresses are relative to where it is loaded.
func standIn() []byte {
	const (
		library, function, forward = "bcryptprimitives.dll\x00", "ProcessPrng\x00", "advapi32.SystemFunction036\x00"

		page, block = 0x1000, 0x200 // units of sections in memory and in the file
		table       = page          // the section, after the page of the header
		functions   = table + 40
		names       = functions + 4
		ordinals    = names + 4
		texts       = ordinals + 2
	)
	var exports bytes.Buffer
	put(&exports,
		uint32(0), uint32(0), uint32(0), // flags, time, version
		uint32(texts), uint32(1), // its name, the first ordinal
		uint32(1), uint32(1), uint32(functions), uint32(names), uint32(ordinals),
		uint32(texts+len(library)+len(function)), // an address in this section is that of a forward
		uint32(texts+len(library)), uint16(0))
	exports.WriteString(library + function + forward)
	size := uint32(exports.Len())

	var file bytes.Buffer
	file.WriteString("MZ")
	file.Write(make([]byte, 58))
	put(&file, uint32(64)) // where the header begins
	file.WriteString("PE\x00\x00")
	put(&file,
		uint16(0x8664), uint16(1), uint32(0), uint32(0), uint32(0), uint16(240), uint16(0x2022), // x86-64, one section, a library
		uint16(0x20b), uint16(0), uint32(0), uint32(block), uint32(0), uint32(0), uint32(0), // 64 bits, sizes, no entry point
		uint64(0x180000000), uint32(page), uint32(block), // where it would like to be loaded
		uint16(6), uint16(0), uint16(0), uint16(0), uint16(6), uint16(0), uint32(0), // for Windows 6.0 and later
		uint32(2*page), uint32(block), uint32(0), uint16(2), uint16(0x100), // sizes in memory and of the header
		uint64(0x100000), uint64(page), uint64(0x100000), uint64(page), uint32(0), uint32(16),
		uint32(table), size)
	file.Write(make([]byte, 15*8)) // no other tables
	file.WriteString(".edata\x00\x00")
	put(&file, size, uint32(table), uint32(block), uint32(block), uint32(0), uint32(0), uint32(0), uint32(0x40000040))
	file.Write(make([]byte, block-file.Len()))
	file.Write(exports.Bytes())
	file.Write(make([]byte, 2*block-file.Len()))
	return file.Bytes()
}

func put(b *bytes.Buffer, numbers ...any) {
	for _, n := range numbers {
		_ = binary.Write(b, binary.LittleEndian, n) // to memory
	}
}
