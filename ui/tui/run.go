package tui

import (
	"context"
	"errors"
	"fmt"
	"time"

	tea "charm.land/bubbletea/v2"
)

// ErrNoTerminal is returned when there is no terminal.
var ErrNoTerminal = errors.New("there is no terminal")

// leaveTime is how long Run waits at the end for a running index update: enough for a
// small one. A long update keeps what it has published, and the next run does the rest.
const leaveTime = 100 * time.Millisecond

// Run runs the TUI until the user quits or the context ends. It restores the terminal
// before it returns, and before it re-raises a panic.
func Run(ctx context.Context, o Options) (Outcome, error) {
	if o.In == nil || o.Out == nil {
		in, out, err := tea.OpenTTY()
		if err != nil {
			return Outcome{}, fmt.Errorf("%w: %w", ErrNoTerminal, err)
		}
		defer out.Close()
		defer in.Close()
		o.In, o.Out = in, out
	}
	inner, stop := context.WithCancel(ctx)
	defer stop()
	m := New(inner, o)
	program := tea.NewProgram(m, tea.WithContext(ctx), tea.WithInput(o.In), tea.WithOutput(o.Out),
		tea.WithEnvironment(o.Environ), tea.WithoutSignalHandler())

	m.quit = program.Quit
	m.post = func(after time.Duration, do then) { time.AfterFunc(after, func() { program.Send(do) }) }
	followed := make(chan struct{})
	go func() {
		defer close(followed)
		defer func() {
			if r := recover(); r != nil {
				program.Send(crashing(r))
			}
		}()
		o.Follow(inner, func(s State) { program.Send(s) })
	}()
	_, err := program.Run()
	stop()
	m.exports.Lock() // a cancelled export removes its partial file
	defer m.exports.Unlock()
	select {
	case <-followed:
	case <-time.After(leaveTime):
	}
	switch {
	case m.crash != nil:
		panic(m.crash)
	case ctx.Err() != nil:
		return m.done, ctx.Err()
	}
	return m.done, err
}
