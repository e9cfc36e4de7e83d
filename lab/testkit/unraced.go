//go:build !race

package testkit

const raced = false // the race detector is on
