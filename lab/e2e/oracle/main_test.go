package oracle_test

import "pigrep/lab/testkit"

// Every sequence builds several indexes, and every run draws new ones.
func init() { testkit.Sequences(30) }
