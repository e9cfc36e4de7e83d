package cli

import (
	"math"

	"github.com/spf13/pflag"
)

// contextOptions are the flags -B, -A and -C: how much of what stands around a
// result is shown. What -B and -A say counts before what -C says.
type contextOptions struct{ before, after, around int }

// notGiven is the value of a number that is not on the command line.
const notGiven = math.MinInt

// addFlags adds the flags with their help.
func (c *contextOptions) addFlags(f *pflag.FlagSet, before, after, around string) {
	c.before, c.after, c.around = notGiven, notGiven, notGiven
	addFlag(f, "after-context", "A", "N", after, &c.after)
	addFlag(f, "before-context", "B", "N", before, &c.before)
	addFlag(f, "context", "C", "N", around, &c.around)
	for _, name := range []string{"after-context", "before-context", "context"} {
		f.Lookup(name).DefValue = "0"
	}
}

// numbers returns how much is shown before and after a result.
func (c *contextOptions) numbers() (before, after int, err error) {
	side := func(n int) int {
		if n == notGiven {
			n = c.around
		}
		if n == notGiven {
			n = 0
		}
		return n
	}
	before, after = side(c.before), side(c.after)
	if before < 0 || after < 0 || c.around < 0 && c.around != notGiven {
		return 0, 0, usagef("", "-A, -B and -C take a number from 0 on")
	}
	return before, after, nil
}
