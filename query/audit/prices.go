package audit

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"pigrep/internal/human"
	"pigrep/internal/session"
)

// Price is the price of a model's tokens, in dollars per million.
type Price struct{ Input, Output, CacheRead, CacheWrite float64 }

// cost returns the cost of a usage at this price, in dollars.
func (p Price) cost(u *session.Usage) float64 {
	return (float64(u.Input)*p.Input + float64(u.Output)*p.Output + float64(u.CacheRead)*p.CacheRead + float64(u.CacheWrite)*p.CacheWrite) / 1e6
}

// Prices are the prices of models by their names, provider/model. They apply only to
// uses of tokens for which the session file has no cost.
type Prices map[string]Price

// PriceError is an error on a line of a file of prices.
type PriceError struct {
	Line    int
	Problem string
}

func (e *PriceError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Problem) }

// PriceFields are the fields on a line of a file of prices, in their order.
var PriceFields = []string{"model", "input", "output", "cache-read", "cache-write"}

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
		if len(fields) != len(PriceFields) {
			return nil, &PriceError{n, human.Plural(len(fields), "field", "fields") + fmt.Sprintf(" instead of %d", len(PriceFields))}
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
		prices[model] = Price{amounts[0], amounts[1], amounts[2], amounts[3]}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return nil, &PriceError{n, "the line is too long"}
	}
	return prices, lines.Err()
}
