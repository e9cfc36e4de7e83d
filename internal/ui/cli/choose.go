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
	"pigrep/query/match"
	"pigrep/query/sessions"
)

// maxChoices is how many list a person chooses from: one key for each.
const maxChoices = 9

// canChoose reports whether there is a person who can choose among n list.
func (a *App) canChoose(n int) bool {
	return n <= maxChoices && a.Streams.InTTY && a.Streams.OutTTY && !a.json
}

// choose lets the person choose a session.
func (a *App) choose(x *answerer, list []sessions.Session) (int, error) {
	short := sessions.ShortIDs(x.reader.Summaries())
	if err := printer.Choices(a.Streams.Err, list, short, a.Now(), a.Streams.Width, a.Home); err != nil {
		return 0, err
	}
	in := bufio.NewReader(a.Streams.In)
	for {
		if _, err := fmt.Fprintf(a.Streams.Err, "which one? [1-%d, Enter for 1, q for none] ", len(list)); err != nil {
			return 0, err
		}
		line, err := in.ReadString('\n')
		answer := strings.ToLower(strings.TrimSpace(line))
		n, numberErr := strconv.Atoi(answer)
		switch {
		case answer == "" && err == nil:
			return 0, nil
		case numberErr == nil && n >= 1 && n <= len(list):
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
func (a *App) chooseMeaning(x *answerer, e *sessions.AmbiguousError) (path, entry string, err error) {
	meanings := e.Locations
	for _, s := range e.Sessions {
		meanings = append(meanings, sessions.EntryLocation{Session: s})
	}
	if len(meanings) == 0 || !a.canChoose(len(meanings)) {
		return "", "", targetProblem(a, x, e)
	}
	list := make([]sessions.Session, len(meanings))
	for i, m := range meanings {
		list[i].SessionHit = query.Describe(m.Session, x.agents.ResumeCommand)
		if m.EntryID != "" {
			list[i].Hit = &query.Hit{Kind: "entry", Fragment: match.Fragment{Text: m.EntryID}}
		}
	}
	chosen, err := a.choose(x, list)
	if err != nil {
		return "", "", err
	}
	return meanings[chosen].Session.Path, meanings[chosen].EntryID, nil
}
