package segment

import (
	"encoding/binary"

	"pigrep/index/format"

	zap "github.com/blevesearch/zapx/v17"
)

// fieldAt says where the parts of a field are.
type fieldAt struct {
	values, valuesEnd uint64 // values is noValues when there are none
	dict              uint64
}

// readFields reads the directory of a segment's fields.
func readFields(z *zap.Segment) (map[Field]fieldAt, error) {
	bad := format.Damaged("fields of a segment")
	data := z.Data()
	count, at, ok := readUvarint(data, z.SectionsIndexOffset())
	if !ok || count > uint64(len(data))/8 {
		return nil, bad
	}
	fields := make(map[Field]fieldAt, count)
	for range count {
		if uint64(len(data))-at < 8 {
			return nil, bad
		}
		name, f, ok := readField(data, binary.BigEndian.Uint64(data[at:]))
		if !ok {
			return nil, bad
		}
		if f.dict != 0 {
			fields[Field(name)] = f
		}
		at += 8
	}
	return fields, nil
}

func readField(data []byte, at uint64) (name string, f fieldAt, ok bool) {
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
		kind, offset := binary.BigEndian.Uint16(data[at:]), binary.BigEndian.Uint64(data[at+2:])
		at += 10
		if kind != zap.SectionInvertedTextIndex || offset == 0 {
			continue
		}
		var next uint64
		if f.values, next, ok = readUvarint(data, offset); ok {
			if f.valuesEnd, next, ok = readUvarint(data, next); ok {
				f.dict, _, ok = readUvarint(data, next)
			}
		}
		return name, f, ok
	}
	return name, f, true
}
