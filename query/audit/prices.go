package audit

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

// Price is the price of a model's tokens, in dollars per million. LongWrite is that of cache
// writes for an hour.
type Price struct{ Input, Output, CacheRead, CacheWrite, LongWrite float64 }

// cost returns the cost of a usage at this price, in dollars.
func (p Price) cost(u *session.Usage) float64 {
	return (float64(u.Input)*p.Input + float64(u.Output)*p.Output + float64(u.CacheRead)*p.CacheRead +
		float64(u.CacheWrite-u.LongWrite)*p.CacheWrite + float64(u.LongWrite)*p.LongWrite) / 1e6
}

// Prices are the prices of models by their names, provider/model. They apply only to
// uses of tokens for which the session file has no cost.
type Prices map[string]Price

//go:embed prices.txt
var listPricesText string

// listPrices are the providers' prices, by model. They apply where the files name no costs.
var listPrices = sync.OnceValue(func() Prices {
	prices, err := ReadPrices(strings.NewReader(listPricesText))
	if err != nil {
		panic(err) // the file is ours
	}
	return prices
})

// listDate returns the date of the list prices.
func listDate() string { return isoDate().FindString(listPricesText) }

var (
	isoDate = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\d{4}-\d\d-\d\d`) })

	// What may stand before and after the name of a model: its provider, and its date or variant.
	beforeModel = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?:.*/)?(?:(?:[a-z-]+\.)?anthropic\.)?`) })
	afterModel  = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?:[-@]\d{8}|-\d{4}-\d\d-\d\d)?(?:-v\d+(?::\d+)?)?(?:\[\w+\])?$`)
	})
)

// listPrice returns the list price of a model, which may be named with its provider or its
// date.
func listPrice(model string) (Price, bool) {
	price, ok := listPrices()[afterModel().ReplaceAllString(beforeModel().ReplaceAllString(model, ""), "")]
	return price, ok
}

// PriceError is an error on a line of a file of prices.
type PriceError struct {
	Line    int
	Problem string
}

func (e *PriceError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Problem) }

// PriceFields are the fields on a line of a file of prices, in their order. The last one may
// be absent if it is as the one before.
var PriceFields = []string{"model", "input", "output", "cache-read", "cache-write", "hour-write"}

// maxPrice is far above every real one.
const maxPrice = 1e6

// ReadPrices reads prices: a line for each model has the fields PriceFields, separated
// by blanks, with amounts in dollars per million tokens. Empty lines and lines that begin
// with # are skipped. Anything else is a *PriceError.
func ReadPrices(r io.Reader) (Prices, error) {
	prices, lines, n := make(Prices), bufio.NewScanner(r), 1
	for ; lines.Scan(); n++ {
		fields := strings.Fields(strings.TrimPrefix(lines.Text(), "\ufeff"))
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		if len(fields) == len(PriceFields)-1 {
			fields = append(fields, fields[len(fields)-1])
		}
		if len(fields) != len(PriceFields) {
			return nil, &PriceError{n, human.Plural(len(fields), "field", "fields") + fmt.Sprintf(" instead of %d or %d", len(PriceFields)-1, len(PriceFields))}
		}
		model, amounts := fields[0], make([]float64, len(fields)-1)
		for i, field := range fields[1:] {
			v, err := strconv.ParseFloat(field, 64)
			if err != nil || !(v >= 0 && v <= maxPrice) || math.Signbit(v) {
				return nil, &PriceError{n, fmt.Sprintf("the price for %s is %q, not a number of dollars", PriceFields[i+1], field)}
			}
			amounts[i] = v
		}
		if _, ok := prices[model]; ok {
			return nil, &PriceError{n, fmt.Sprintf("a second price for %s", model)}
		}
		prices[model] = Price{amounts[0], amounts[1], amounts[2], amounts[3], amounts[4]}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return nil, &PriceError{n, "the line is too long"}
	}
	return prices, lines.Err()
}
