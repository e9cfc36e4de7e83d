package session

import (
	"maps"
	"testing"
)

// Names of a tool that differ in case only count together, by the one in small letters; others do not.
func TestToolsAreJoinedByCase(t *testing.T) {
	got := JoinTools(map[string]int{"bash": 2, "Bash": 3, "TodoWrite": 1, "mcp__db__query": 1, "mcp__web__query": 4, "Read": 5})
	want := map[string]int{"bash": 5, "TodoWrite": 1, "mcp__db__query": 1, "mcp__web__query": 4, "Read": 5}
	if !maps.Equal(got, want) {
		t.Errorf("joined %v, want %v", got, want)
	}
}
