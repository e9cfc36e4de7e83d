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

// entries is the kind of the ids of pieces of entries.
const entries record.FactKind = 'n'

func factsID(kind record.FactKind, file uint32, piece string) string {
	return fmt.Sprintf("%c:%06x:%s", kind, file, piece)
}

// allRecordIDs is the range of the records of all files.
var allRecordIDs = segment.IDRange{Start: "r:", End: "r;"}

func parseRecordID(id []byte) (file uint32, err error) {
	n, err := strconv.ParseUint(strings.TrimPrefix(string(id), "r:"), 16, 32)
	if err != nil {
		return 0, format.Damaged("read the records of sessions: %q is no id of any", id)
	}
	return uint32(n), nil
}

func parseFactsID(kind record.FactKind, id []byte) (file uint32, piece string, err error) {
	number, piece, _ := strings.Cut(strings.TrimPrefix(string(id), string(kind)+":"), ":")
	n, err := strconv.ParseUint(number, 16, 32)
	if err != nil {
		return 0, "", format.Damaged("read the facts of sessions: %q is no id of any", id)
	}
	return uint32(n), piece, nil
}

func factIDs(kind record.FactKind, file uint32) segment.IDRange {
	return segment.IDRange{Start: factsID(kind, file, ""), End: fmt.Sprintf("%c:%06x;", kind, file)} // ';' follows ':'
}

// allFactIDs is the range of the facts of a kind of all files.
func allFactIDs(kind record.FactKind) segment.IDRange {
	return segment.IDRange{Start: string(kind) + ":", End: string(kind) + ";"}
}
