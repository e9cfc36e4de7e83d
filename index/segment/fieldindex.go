package segment

import (
	"encoding/binary"
	"slices"

	zap "github.com/blevesearch/zapx/v17"
)

// The field index, at the address that the footer names:
//
//	varint   number of fields
//	8 bytes  address of each field
//
// and a field:
//
//	varint   length of the name, and the name
//	varint   options
//	varint   number of sections, then for each:
//	         2 bytes type, 8 bytes address, 0 for none
//
// We have one section a field, of type 0 (inverted text), which is the header of
// the field:
//
//	varint   start of the doc values, all bits set when there are none
//	varint   end of them
//	varint   address of the dictionary
type fieldOffsets struct {
	values, valuesEnd uint64
	dictionary        uint64
}

const noValues = ^uint64(0)

// fieldIndex writes the fields, whose headers are given in the order of specs, where the
// adjacency filters are, and the index of the fields. It returns the address of the index.
func (w *writer) fieldIndex(headers []uint64, adjacency uint64) uint64 {
	addresses := make([]uint64, len(specs))
	for i, f := range specs {
		addresses[i] = w.at()
		w.varint(uint64(len(f.name)))
		w.out = append(w.out, f.name...)
		w.varint(uint64(f.options))
		w.varint(1)
		w.out = binary.BigEndian.AppendUint16(w.out, zap.SectionInvertedTextIndex)
		w.fixed(headers[i])
	}
	w.fixed(adjacency)
	w.out = append(w.out, adjacencyMagic...)
	index := w.at()
	w.varint(uint64(len(specs)))
	for _, address := range addresses {
		w.fixed(address)
	}
	return index
}

// readFieldIndex reads where the parts of each field are, from the address of the
// index. Fields without terms may be missing.
func (b *body) readFieldIndex(index uint64) map[Field]fieldOffsets {
	count, at := b.uvarint(index)
	fields := make(map[Field]fieldOffsets)
	for address := range slices.Chunk(b.bytes(at, 8*min(count, uint64(len(b.data)))), 8) {
		if name, f := b.readField(binary.BigEndian.Uint64(address)); f.dictionary != 0 {
			fields[Field(name)] = f
		}
	}
	return fields
}

func (b *body) readField(at uint64) (name string, f fieldOffsets) {
	size, at := b.uvarint(at)
	name = string(b.bytes(at, size))
	_, at = b.uvarint(at + size)
	sections, at := b.uvarint(at)
	for ; sections > 0; sections-- {
		section := b.bytes(at, 10)
		at += 10
		kind, address := binary.BigEndian.Uint16(section), binary.BigEndian.Uint64(section[2:])
		if kind == zap.SectionInvertedTextIndex && address != 0 {
			f.values, address = b.uvarint(address)
			f.valuesEnd, address = b.uvarint(address)
			f.dictionary, _ = b.uvarint(address)
			break
		}
	}
	return name, f
}
