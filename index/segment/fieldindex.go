package segment

import (
	"encoding/binary"

	zap "github.com/blevesearch/zapx/v17"

	"pigrep/index/format"
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

// fieldHeader writes the header of a field and returns its address.
func (w *writer) fieldHeader(f fieldOffsets) uint64 {
	header := w.at()
	w.varint(f.values)
	w.varint(f.valuesEnd)
	w.varint(f.dictionary)
	return header
}

// fieldIndex writes the fields and their index, and returns the address of the index.
func (w *writer) fieldIndex(fields []*inverted, headers []uint64) uint64 {
	addresses := make([]uint64, len(fields))
	for i, f := range fields {
		addresses[i] = w.at()
		w.varint(uint64(len(f.name)))
		w.out = append(w.out, f.name...)
		w.varint(uint64(f.options))
		w.varint(1)
		w.out = binary.BigEndian.AppendUint16(w.out, zap.SectionInvertedTextIndex)
		w.fixed(headers[i])
	}
	index := w.at()
	w.varint(uint64(len(fields)))
	for _, address := range addresses {
		w.fixed(address)
	}
	return index
}

// readFieldIndex reads where the parts of each field are, from the address of the
// index. Fields without terms may be missing.
func readFieldIndex(data []byte, index uint64) (map[Field]fieldOffsets, error) {
	bad := format.Damaged("fields of a segment")
	count, at, ok := readUvarint(data, index)
	if !ok || count > uint64(len(data))/8 {
		return nil, bad
	}
	fields := make(map[Field]fieldOffsets, count)
	for range count {
		if uint64(len(data))-at < 8 {
			return nil, bad
		}
		name, f, ok := readField(data, binary.BigEndian.Uint64(data[at:]))
		if !ok {
			return nil, bad
		}
		if f.dictionary != 0 {
			fields[Field(name)] = f
		}
		at += 8
	}
	return fields, nil
}

func readField(data []byte, at uint64) (name string, f fieldOffsets, ok bool) {
	size, at, ok := readUvarint(data, at)
	if !ok || size > uint64(len(data))-at {
		return "", f, false
	}
	name = string(data[at : at+size])
	_, at, ok = readUvarint(data, at+size)
	var sections uint64
	if ok {
		sections, at, ok = readUvarint(data, at)
	}
	if !ok {
		return "", f, false
	}
	for range sections {
		if uint64(len(data))-at < 10 {
			return "", f, false
		}
		kind, address := binary.BigEndian.Uint16(data[at:]), binary.BigEndian.Uint64(data[at+2:])
		at += 10
		if kind != zap.SectionInvertedTextIndex || address == 0 {
			continue
		}
		var next uint64
		if f.values, next, ok = readUvarint(data, address); ok {
			if f.valuesEnd, next, ok = readUvarint(data, next); ok {
				f.dictionary, _, ok = readUvarint(data, next)
			}
		}
		return name, f, ok
	}
	return name, f, true
}
