package index

import (
	"fmt"
	"strconv"
	"strings"

	"pigrep/index/format"
	"pigrep/index/record"
	"pigrep/index/segment"
)

// The record of a file and the pieces of its facts are stored under the ids
//
//	r:<file>          the record
//	n:<file>:<piece>  a piece of its entries
//	u:<file>:<piece>  record.UsageFacts
//	f:<file>:<piece>  record.CallFacts
//	g:<file>:<piece>  record.DetailFacts
//	t:<file>:<piece>  record.UsageSums
//	s:<file>:<piece>  record.CallSums
//	b:<file>:<piece>  record.BareFacts
//
// with the file number in hexadecimal, as the ids of documents have it.

func recordID(file uint32) string { return fmt.Sprintf("r:%06x", file) }

// The kinds of the ids of records, and of pieces of entries.
const (
	records record.FactKind = 'r'
	entries record.FactKind = 'n'
)

func factsID(kind record.FactKind, file uint32, piece string) string {
	return fmt.Sprintf("%c:%06x:%s", kind, file, piece)
}

// parseID returns the file of an id of a kind, and the piece; "" in the id of a record.
func parseID(kind record.FactKind, id []byte) (file uint32, piece string, err error) {
	number, piece, _ := strings.Cut(strings.TrimPrefix(string(id), string(kind)+":"), ":")
	n, err := strconv.ParseUint(number, 16, 32)
	if err != nil {
		what := "facts"
		if kind == records {
			what = "records"
		}
		return 0, "", format.Damaged("read the %s of sessions: %q is no id of any", what, id)
	}
	return uint32(n), piece, nil
}

func factIDs(kind record.FactKind, file uint32) segment.IDRange {
	return segment.IDRange{Start: factsID(kind, file, ""), End: fmt.Sprintf("%c:%06x;", kind, file)} // ';' follows ':'
}

// allIDs is the range of the ids of a kind of all files.
func allIDs(kind record.FactKind) segment.IDRange {
	return segment.IDRange{Start: string(kind) + ":", End: string(kind) + ";"}
}
