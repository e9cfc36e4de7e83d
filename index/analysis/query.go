package analysis

// WithoutCoveredSingles drops the single characters of a script without spaces that
// a gram covers too: a query looks up what is more telling.
func WithoutCoveredSingles(tokens []Token) []Token {
	var kept []Token
	for i, t := range tokens {
		if t.Form == Single {
			covered := false
			for _, o := range tokens[max(0, i-2):min(len(tokens), i+4)] {
				covered = covered || o.Form == Gram && o.Start <= t.Start && t.End <= o.End
			}
			if covered {
				continue
			}
		}
		kept = append(kept, t)
	}
	return kept
}
