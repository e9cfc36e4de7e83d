package adapter

// Coverage says what pigrep does with a store.
type Coverage string

// Coverages.
const (
	Searched   Coverage = "searched"
	Catalogued Coverage = "catalogued" // listed, with whether it is there
	Private    Coverage = "private"    // listed by name only: never opened, never stat'ed
)

// Store is a kind of file that an agent keeps.
type Store struct {
	Name     string
	Role     string // what it is for
	Format   string
	Path     string // absolute
	Coverage Coverage
}
