package adapter

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"pigrep/internal/jsonl"
	"pigrep/internal/session"
)

// MaxPath is the length of the longest path of a call; others are ignored.
const MaxPath = 4096

// UnknownOutcome is the outcome of a call of which nothing is known.
var UnknownOutcome = session.Outcome{Exit: session.Unknown, Duration: session.Unknown}

// Larger numbers cannot be right and would spoil every sum.
const (
	maxTokens = 1_000_000_000_000
	maxCost   = 1_000_000_000
)

// Tokens reads a number of tokens. One that cannot be right counts as 0 and makes the usage
// unusable.
func Tokens(json *jsonl.Scanner, v jsonl.Value, u *session.Usage) int64 {
	if c := json.Kind(v); c == 0 || c == 'n' {
		return 0
	}
	n, ok := json.Int(v)
	if !ok || n < 0 || n > maxTokens {
		u.Unusable = true
		return 0
	}
	return n
}

// Cost is Tokens for a cost.
func Cost(json *jsonl.Scanner, v jsonl.Value, u *session.Usage) float64 {
	switch json.Kind(v) {
	case 0, 'n':
		return 0
	case '"', '{', '[', 't', 'f':
		u.Unusable = true
		return 0
	}
	cost, err := strconv.ParseFloat(string(json.Raw(v)), 64)
	if err != nil || cost < 0 || cost > maxCost {
		u.Unusable = true
		return 0
	}
	return cost + 0 // turns negative zero into zero
}

// Code reads an exit code, session.Unknown if there is none.
func Code(json *jsonl.Scanner, v jsonl.Value) int32 {
	if n, ok := json.Int(v); ok && int64(int32(n)) == n {
		return int32(n)
	}
	return session.Unknown
}

// Millis reads a duration in milliseconds, session.Unknown if there is none.
func Millis(json *jsonl.Scanner, v jsonl.Value) int32 {
	n, ok := json.Int(v)
	if !ok || n < 0 || n > math.MaxInt32 {
		return session.Unknown
	}
	return int32(n)
}

// Image returns an image of a type whose data is a base64 string.
func Image(json *jsonl.Scanner, mimeType, data jsonl.Value) session.Image {
	return Base64Image(json.Name(mimeType), json.JSON(data))
}

// Base64Image returns an image of a type with this data.
func Base64Image(mimeType string, data []byte) session.Image {
	image := session.Image{MimeType: mimeType, Base64: data, Size: len(data) / 4 * 3}
	for i := len(data); i > 0 && i > len(data)-2 && data[i-1] == '='; i-- {
		image.Size--
	}
	return image
}

// Arguments returns the arguments of a call for people.
func Arguments(json *jsonl.Scanner, v jsonl.Value) (list []session.Argument) {
	for _, m := range json.Fields(v) {
		a := session.Argument{Name: string(m.Key)}
		if a.Text = json.Kind(m.Val) == '"'; a.Text {
			a.Value = json.Text(m.Val)
		} else {
			a.Value = json.Raw(m.Val)
		}
		list = append(list, a)
	}
	return list
}

// Tool says what a tool does, and which of its arguments say so.
type Tool struct {
	Deed    session.Deed
	Command string          // the argument with a shell command, "" for none
	Dialect session.Dialect // of the command
	File    string          // the argument with a path, "" for none
	Dir     string          // the argument with the directory of a command, "" for none
	Escapes string          // the argument with which a call asks to run outside of the sandbox, "" for none
	Use     session.Deed    // what is done to the file, if it is not the Deed
}

// Tools reads a table of tools and returns it by name. Each line begins with a deed and the
// names of the tools that do it. command=, dir=, file= and escapes= name the arguments with a command, its
// directory, a path, or the wish to run outside of the sandbox; powershell is the dialect of the commands. reads marks a tool that lists lines but
// also reads the file that it is given.
func Tools(text string) map[string]Tool {
	all := make(map[string]Tool)
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) == 0 || fields[0] == "#" {
			continue
		}
		t := Tool{Deed: session.Deed(slices.Index(session.Deeds[:], fields[0]))}
		for _, property := range fields[2:] {
			switch name, value, _ := strings.Cut(property, "="); name {
			case "command":
				t.Command = value
			case "file":
				t.File = value
			case "dir":
				t.Dir = value
			case "escapes":
				t.Escapes = value
			case "powershell":
				t.Dialect = session.DialectPowerShell
			case "reads":
				t.Use = session.DeedRead
			}
		}
		for name := range strings.SplitSeq(fields[1], ",") {
			all[name] = t
		}
	}
	return all
}

// Keys is a set of the keys of members, or of other names.
type Keys map[string]bool

// NewKeys returns the set of names with spaces between them, and of those in other sets.
func NewKeys(names string, more ...Keys) Keys {
	k := make(Keys)
	for _, name := range strings.Fields(names) {
		k[name] = true
	}
	for _, m := range more {
		maps.Copy(k, m)
	}
	return k
}

// Has reports whether a key is in the set.
func (k Keys) Has(key []byte) bool { return k[string(key)] }

// Named returns what each name stands for, from the names of each thing with spaces between them.
func Named[T comparable](lists map[T]string) map[string]T {
	m := make(map[string]T)
	for what, names := range lists {
		for _, name := range strings.Fields(names) {
			m[name] = what
		}
	}
	return m
}

// IsUUID reports whether a name is a UUID, as agents write most ids.
func IsUUID[T string | []byte](name T) bool {
	const form = "00000000-0000-0000-0000-000000000000"
	if len(name) != len(form) {
		return false
	}
	for i := range len(form) {
		digits := "0123456789abcdefABCDEF"
		if form[i] == '-' {
			digits = "-"
		}
		if strings.IndexByte(digits, name[i]) < 0 {
			return false
		}
	}
	return true
}
