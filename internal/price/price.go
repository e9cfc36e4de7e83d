// Package price says what the tokens of models cost: the list prices of their providers, and those
// that a file names.
package price

import (
	"bufio"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"pigrep/internal/human"
	"pigrep/internal/session"
)

// Price is the price of a model's tokens, in dollars per million. LongWrite is the price of cache
// writes for an hour.
type Price struct{ Input, Output, CacheRead, CacheWrite, LongWrite float64 }

// Cost returns the cost of a usage at this price, in dollars.
func (p Price) Cost(u *session.Usage) float64 {
	return (float64(u.Input)*p.Input + float64(u.Output)*p.Output + float64(u.CacheRead)*p.CacheRead +
		float64(u.CacheWrite-u.LongWrite)*p.CacheWrite + float64(u.LongWrite)*p.LongWrite) / 1e6
}

// A List maps models, provider/model, to prices. A price applies only to usage without a cost in the session
// file.
type List map[string]Price

//go:embed prices.txt
var listPricesText string

// listPrices are the providers' prices, by model. They apply where the files name no costs.
var listPrices = sync.OnceValue(func() List {
	prices, err := Read(strings.NewReader(listPricesText))
	if err != nil {
		panic(err) // the file is ours
	}
	return prices
})

// Date returns the date of the list prices.
func Date() string { return isoDate().FindString(listPricesText) }

var (
	isoDate = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\d{4}-\d\d-\d\d`) })

	// What may stand before and after the name of a model: its provider, and its date or variant.
	beforeModel = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?:.*/)?(?:(?:[a-z-]+\.)?anthropic\.)?`) })
	afterModel  = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?:[-@]\d{8}|-\d{4}-\d\d-\d\d)?(?:-v\d+(?::\d+)?)?(?:\[\w+\])?$`)
	})
)

// Faster is the suffix of a model's name that gives its price at a faster tier.
const Faster = "+fast"

// Of returns the list price of a model at a tier. The model may be named with its provider or its
// date.
func Of(model, tier string) (Price, bool) {
	p, ok := listPrices()[model[strings.LastIndexByte(model, '/')+1:]+tier]
	if !ok {
		p, ok = listPrices()[afterModel().ReplaceAllString(beforeModel().ReplaceAllString(model, ""), "")+tier]
	}
	return p, ok
}

// Listed remembers the list prices of models. The zero value is ready to use.
type Listed struct{ prices map[string]listed }

type listed struct{ usual, faster *Price }

// Of returns the list price of a usage; nil if there is none. complete is false if only the price of another
// tier is known.
func (l *Listed) Of(model string, u *session.Usage) (p *Price, complete bool) {
	known, ok := l.prices[model]
	if !ok {
		if p, ok := Of(model, ""); ok {
			known.usual = &p
		}
		if p, ok := Of(model, Faster); ok {
			known.faster = &p
		}
		if l.prices == nil {
			l.prices = make(map[string]listed)
		}
		l.prices[strings.Clone(model)] = known
	}
	if u.Faster && known.faster != nil {
		return known.faster, true
	}
	return known.usual, known.usual != nil && !u.Faster
}

// Error is an error on a line of a file of prices.
type Error struct {
	Line    int
	Problem string
}

func (e *Error) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Problem) }

// Fields are the fields on a line of a file of prices, in their order. The last one may
// be absent if it is as the one before.
var Fields = []string{"model", "input", "output", "cache-read", "cache-write", "hour-write"}

// maxPrice is far above every real one.
const maxPrice = 1e6

// Read reads prices: a line for each model has the fields Fields, separated
// by blanks, with amounts in dollars per million tokens. Empty lines and lines that begin
// with # are skipped. Anything else is a *Error.
func Read(r io.Reader) (List, error) {
	prices, lines, n := make(List), bufio.NewScanner(r), 1
	for ; lines.Scan(); n++ {
		fields := strings.Fields(strings.TrimPrefix(lines.Text(), "\ufeff"))
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		if len(fields) == len(Fields)-1 {
			fields = append(fields, fields[len(fields)-1])
		}
		if len(fields) != len(Fields) {
			return nil, &Error{n, human.Plural(len(fields), "field", "fields") + fmt.Sprintf(" instead of %d or %d", len(Fields)-1, len(Fields))}
		}
		model, amounts := fields[0], make([]float64, len(fields)-1)
		for i, field := range fields[1:] {
			v, err := strconv.ParseFloat(field, 64)
			if err != nil || !(v >= 0 && v <= maxPrice) || math.Signbit(v) {
				return nil, &Error{n, fmt.Sprintf("the price for %s is %q, not a number of dollars", Fields[i+1], field)}
			}
			amounts[i] = v
		}
		if _, ok := prices[model]; ok {
			return nil, &Error{n, fmt.Sprintf("a second price for %s", model)}
		}
		prices[model] = Price{amounts[0], amounts[1], amounts[2], amounts[3], amounts[4]}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return nil, &Error{n, "the line is too long"}
	}
	return prices, lines.Err()
}
