package cli

import "github.com/spf13/pflag"

// contextOptions are the flags -B, -A and -C: how much of what stands around a
// result is shown. What -B and -A say counts before what -C says.
type contextOptions struct{ before, after, around number }

// addFlags adds the flags with their help.
func (c *contextOptions) addFlags(f *pflag.FlagSet, before, after, around string) {
	addFlag(f, "after-context", "A", "N", after, &c.after)
	addFlag(f, "before-context", "B", "N", before, &c.before)
	addFlag(f, "context", "C", "N", around, &c.around)
}

// numbers returns how much is shown before and after a result.
func (c *contextOptions) numbers() (before, after int) {
	return c.before.or(c.around.n), c.after.or(c.around.n)
}
