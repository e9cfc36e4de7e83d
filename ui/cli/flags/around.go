package flags

import "github.com/spf13/pflag"

// Around are the flags -B, -A and -C: how much is shown before and after a
// result. -B and -A override -C.
type Around struct{ before, after, around Number }

// AddFlags adds the flags with these usages.
func (c *Around) AddFlags(f *pflag.FlagSet, before, after, around string) {
	Add(f, "after-context", "A", "N", after, &c.after)
	Add(f, "before-context", "B", "N", before, &c.before)
	Add(f, "context", "C", "N", around, &c.around)
}

// Numbers returns how much is shown before and after a result.
func (c *Around) Numbers() (before, after int) {
	return c.before.Or(c.around.N), c.after.Or(c.around.N)
}
