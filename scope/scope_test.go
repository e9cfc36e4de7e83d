package scope_test

import (
	"slices"
	"strings"
	"testing"

	"pigrep/internal/session"
	"pigrep/scope"
)

func TestScopesNest(t *testing.T) {
	for i, narrow := range scope.Scopes[:len(scope.Scopes)-1] {
		wide := scope.Scopes[i+1]
		if len(narrow.KindsOf()) >= len(wide.KindsOf()) {
			t.Errorf("%s is not narrower than %s", narrow, wide)
		}
		for _, k := range narrow.KindsOf() {
			if !wide.Holds(k) {
				t.Errorf("%s holds %s and %s does not", narrow, k, wide)
			}
		}
	}
	if got := scope.All.KindsOf(); len(got) != len(scope.Kinds) {
		t.Errorf("scope all holds %d of %d kinds", len(got), len(scope.Kinds))
	}
	if got := scope.Prompts.KindsOf(); !slices.Equal(got, []session.Kind{session.KindPrompt}) {
		t.Errorf("scope prompts holds %v", got)
	}
}

func TestConversationsLeavesOutWhatPollutes(t *testing.T) {
	for _, k := range []session.Kind{session.KindSystem, session.KindDetails, session.KindData, session.KindMeta, session.KindOther} {
		if scope.Conversations.Holds(k) {
			t.Errorf("scope conversations holds %s", k)
		}
	}
}

func TestTableIsWhole(t *testing.T) {
	kinds, roles := make(map[session.Kind]bool), make(map[string]bool)
	for _, r := range scope.Kinds {
		if kinds[r.Kind] || r.From == "" || !slices.Contains(scope.Scopes, r.In) {
			t.Errorf("row %+v is doubled or not whole", r)
		}
		kinds[r.Kind] = true
		for _, role := range r.Roles {
			if roles[role] {
				t.Errorf("role %s stands twice", role)
			}
			roles[role] = true
			if scope.OfRole(role) != r.Kind {
				t.Errorf("OfRole(%q) = %s, want %s", role, scope.OfRole(role), r.Kind)
			}
		}
	}
	if got := scope.OfRole("artifact"); got != session.KindOther {
		t.Errorf("an unknown role gives kind %s", got)
	}
}

func TestParse(t *testing.T) {
	if s, err := scope.Parse("ALL"); err != nil || s != scope.All {
		t.Errorf("Parse(ALL) = %v, %v", s, err)
	}
	if k, err := scope.ParseKind("Thinking"); err != nil || k != session.KindThinking {
		t.Errorf("ParseKind(Thinking) = %v, %v", k, err)
	}
	if _, err := scope.Parse("everything"); err == nil || !strings.Contains(err.Error(), "prompts, conversations, all") {
		t.Errorf("the error does not list the scopes: %v", err)
	}
	if _, err := scope.ParseKind("answer"); err == nil || !strings.Contains(err.Error(), "reply") {
		t.Errorf("the error does not list the kinds: %v", err)
	}
}
