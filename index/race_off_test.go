//go:build !race

package index_test

// raceEnabled tells whether the race detector watches the tests.
const raceEnabled = false
