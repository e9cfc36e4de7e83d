package cli

import "github.com/spf13/pflag"

// aroundOptions are the flags -B, -A and -C: how much is shown before and after a
// result. -B and -A override -C.
type aroundOptions struct{ before, after, around number }

// addFlags adds the flags with these usages.
func (c *aroundOptions) addFlags(f *pflag.FlagSet, before, after, around string) {
	addFlag(f, "after-context", "A", "N", after, &c.after)
	addFlag(f, "before-context", "B", "N", before, &c.before)
	addFlag(f, "context", "C", "N", around, &c.around)
}

// numbers returns how much is shown before and after a result.
func (c *aroundOptions) numbers() (before, after int) {
	return c.before.or(c.around.n), c.after.or(c.around.n)
}
