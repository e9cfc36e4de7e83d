package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"pigrep/internal/ui/printer"
	"pigrep/query"
)

// maxChoices is how many sessions a person chooses from: one key for each.
const maxChoices = 9

// canChoose reports whether there is a person who can choose among n sessions.
func (a *App) canChoose(n int) bool {
	return n <= maxChoices && a.Streams.InTTY && a.Streams.OutTTY && !a.json
}

// choose lets the person choose a session.
func (a *App) choose(x *answerer, sessions []query.ListedSession) (int, error) {
	short := query.ShortIDs(x.reader.Summaries())
	if err := printer.Choices(a.Streams.Err, sessions, short, a.Now(), a.Streams.Width, a.Home); err != nil {
		return 0, err
	}
	in := bufio.NewReader(a.Streams.In)
	for {
		if _, err := fmt.Fprintf(a.Streams.Err, "which one? [1-%d, Enter for 1, q for none] ", len(sessions)); err != nil {
			return 0, err
		}
		line, err := in.ReadString('\n')
		answer := strings.ToLower(strings.TrimSpace(line))
		n, numberErr := strconv.Atoi(answer)
		switch {
		case answer == "" && err == nil:
			return 0, nil
		case numberErr == nil && n >= 1 && n <= len(sessions):
			return n - 1, nil
		case answer == "q" || answer == "n" || errors.Is(err, io.EOF):
			return 0, errNothingFound
		case err != nil:
			return 0, fmt.Errorf("read the answer: %w", err)
		}
	}
}

// chooseMeaning lets the person choose what an ambiguous name means: a session,
// and perhaps an entry in it. Without a person, or with too many meanings, the
// outcome is the error that lists them.
func (a *App) chooseMeaning(x *answerer, e *query.AmbiguousError) (path, entry string, err error) {
	meanings := e.Places
	for _, s := range e.Sessions {
		meanings = append(meanings, query.EntryPlace{Session: s})
	}
	if len(meanings) == 0 || !a.canChoose(len(meanings)) {
		return "", "", targetProblem(a, x, e)
	}
	sessions := make([]query.ListedSession, len(meanings))
	for i, m := range meanings {
		sessions[i].SessionHit = query.Facts(m.Session, x.agents.ResumeCommand)
		if m.EntryID != "" {
			sessions[i].Hit = &query.Hit{Kind: "entry", Fragment: query.Fragment{Text: m.EntryID}}
		}
	}
	chosen, err := a.choose(x, sessions)
	if err != nil {
		return "", "", err
	}
	return meanings[chosen].Session.Path, meanings[chosen].EntryID, nil
}
