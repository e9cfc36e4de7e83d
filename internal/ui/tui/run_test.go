package tui

import (
	"context"
	"io"
	"os"
	"testing"
	"time"
)

// Whoever leaves does not wait for a long update of the index.
func TestLeavingDuringAnUpdate(t *testing.T) {
	in, keys, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	defer keys.Close()
	out, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	o := Options{Backend: fake(), In: in, Out: out, Now: time.Now, Home: "/home/u"}
	following := make(chan struct{})
	update := make(chan struct{})
	defer close(update)
	o.Follow = func(context.Context, func(State)) {
		close(following)
		<-update
	}
	go func() {
		<-following
		_, _ = io.WriteString(keys, "\x03")
	}()
	done, err := Run(t.Context(), o)
	if err != nil || !done.Interrupted {
		t.Errorf("Run: %+v, %v", done, err)
	}
}
