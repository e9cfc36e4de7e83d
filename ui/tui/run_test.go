package tui

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"pigrep/query/sessions"
)

// piped returns options of a program that reads its keys from a pipe.
func piped(t *testing.T) (Options, io.Writer) {
	t.Helper()
	in, keys, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); keys.Close() })
	out, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { out.Close() })
	return Options{Backend: fake(), In: in, Out: out, Now: time.Now, Home: "/home/u", Formats: []string{"html"}}, keys
}

// Whoever leaves does not wait for a long update of the index.
func TestLeavingDuringAnUpdate(t *testing.T) {
	o, keys := piped(t)
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

// Whoever leaves during an export finds no part of it: the export removes it before the
// program ends.
func TestLeavingDuringAnExport(t *testing.T) {
	o, keys := piped(t)
	path := filepath.Join(t.TempDir(), "x.html")
	lists, list := 0, o.Sessions
	o.Sessions = func(ctx context.Context, req sessions.Request) (*sessions.Response, error) {
		if lists++; lists == 2 { // the first list is on the screen
			_, _ = io.WriteString(keys, "\x1bw")
			_, _ = io.WriteString(keys, "\r")
		}
		return list(ctx, req)
	}
	o.Follow = func(ctx context.Context, report func(State)) {
		report(State{Generation: 1})
		<-ctx.Done()
	}
	o.Export = func(ctx context.Context, _ Place, _ string) (string, error) {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			return "", err
		}
		_, _ = io.WriteString(keys, "\x03")
		<-ctx.Done()
		for range 1000 { // work that does not look at the context
			runtime.Gosched()
			_, _ = os.Stat(path)
		}
		return "", os.Remove(path)
	}
	if done, err := Run(t.Context(), o); err != nil || !done.Interrupted {
		t.Errorf("Run: %+v, %v", done, err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("the file of an export that was stopped is still there")
	}
}
