//go:build race

package testkit

const raced = true // the race detector is on
