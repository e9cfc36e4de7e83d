package bytescan

// indexPair returns the least i below n for which x[i] is a and y[i] is b, n if there is none.
// Each of a, b and anyCase is a byte, repeated eight times; the bits of anyCase are not
// compared. n is a positive multiple of step.
//
//go:noescape
func indexPair(x, y *byte, n int, a, b, anyCase uint64) int

// indexQuote returns the least i below n for which x[i] is a quote that is not after a single
// backslash, n if there is none. n is a positive multiple of step; x[-2] must be there.
//
//go:noescape
func indexQuote(x *byte, n int) int
