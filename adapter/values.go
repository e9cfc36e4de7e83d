package adapter

import (
	"math"
	"strconv"

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
