package ranking

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"pigrep/internal/near"
	"pigrep/lab/must"
)

// BytesPerToken is what tokens of an answer are counted by: structured answers have about so
// many bytes for each.
const BytesPerToken = 4

// Told is what an agent is told that asks a question over the Model Context Protocol.
type Told struct {
	Query  string
	Tokens int  // of the structured part, which is all that most clients show to the model
	Listed bool // an entry with the best grade is among the hits, or is the answer below one
}

// Questions returns n queries of at least four words, spread evenly over all of them.
func Questions(list []Query, n int) []Query {
	list = slices.DeleteFunc(slices.Clone(list), func(q Query) bool { return len(strings.Fields(q.Text)) < 4 })
	var some []Query
	for i := range n {
		some = append(some, list[i*len(list)/n])
	}
	return some
}

// Ask asks questions of a server that has the sessions of the set, with these arguments besides.
func (s *Set) Ask(ctx context.Context, client *mcp.ClientSession, questions []Query, with map[string]any) (told []Told, err error) {
	defer must.Catch(&err)
	for _, q := range questions {
		arguments := map[string]any{"query": q.Text}
		maps.Copy(arguments, with)
		result := must.Get(client.CallTool(ctx, &mcp.CallToolParams{Name: "search", Arguments: arguments}))
		data := must.Get(json.Marshal(result.StructuredContent))
		var answer struct {
			Sessions []struct {
				Session string
				Hits    []struct{ Entry, Answered string }
			}
		}
		must.Do(json.Unmarshal(data, &answer))
		best := map[Entry]bool{}
		for position, grade := range q.Grades {
			if grade == Best {
				best[must.Get(s.Find(position))] = true
			}
		}
		t := Told{Query: q.Text, Tokens: len(data) / BytesPerToken}
		for _, x := range answer.Sessions {
			for _, h := range x.Hits {
				answered, _, _ := strings.Cut(h.Answered, " ")
				t.Listed = t.Listed || s.namesOneOf(best, x.Session, h.Entry) || s.namesOneOf(best, x.Session, answered)
			}
		}
		told = append(told, t)
	}
	return told, nil
}

// namesOneOf reports whether an answer names one of these entries: by its id, the beginning of it, or its offset.
func (s *Set) namesOneOf(best map[Entry]bool, of, entry string) bool {
	for name, e := range s.names {
		same := name.entry == entry || entry != "" && entry[0] != '@' && strings.HasPrefix(name.entry, entry)
		if best[e] && same && (near.IsID(name.id, of) || name.path == of || strings.HasPrefix(filepath.Base(name.path), of)) {
			return true
		}
	}
	return false
}

// Median returns the median of the tokens, and how many of the questions have their answer listed.
func Median(told []Told) (tokens, listed int) {
	list := slices.SortedFunc(slices.Values(told), func(a, b Told) int { return cmp.Compare(a.Tokens, b.Tokens) })
	for _, t := range list {
		if t.Listed {
			listed++
		}
	}
	return list[len(list)/2].Tokens, listed
}

// ToolTokens returns the tokens of a list of tools: of what models read before every answer, and
// of all that programs read.
func ToolTokens(tools []*mcp.Tool) (shown, whole int) {
	for _, t := range tools {
		shown += len(must.Get(json.Marshal(map[string]any{"name": t.Name, "description": t.Description, "input_schema": t.InputSchema})))
		whole += len(must.Get(json.Marshal(t)))
	}
	return shown / BytesPerToken, whole / BytesPerToken
}
