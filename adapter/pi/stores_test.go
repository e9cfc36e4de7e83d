package pi

import (
	"path/filepath"
	"strings"
	"testing"

	"pigrep/adapter"
)

func TestStores(t *testing.T) {
	byName := make(map[string]adapter.Store)
	env := adapter.Environment{Home: "/home/u", Getenv: func(string) string { return "" }}
	for _, s := range New().Stores(env) {
		if s.Name == "" || s.Role == "" || s.Format == "" || !strings.HasPrefix(s.Path, agentDir(env)+string(filepath.Separator)) {
			t.Errorf("store %+v is not complete", s)
		}
		if _, twice := byName[s.Name]; twice {
			t.Errorf("store %s is listed twice", s.Name)
		}
		byName[s.Name] = s
	}
	for name, want := range map[string]adapter.Coverage{
		"sessions": adapter.Searched, "settings": adapter.Catalogued, "auth": adapter.Private, "models": adapter.Catalogued, "themes": adapter.Catalogued, "tools": adapter.Catalogued,
		"bin": adapter.Catalogued, "prompts": adapter.Catalogued, "debug log": adapter.Catalogued, "npm": adapter.Catalogued,
	} {
		if got := byName[name].Coverage; got != want {
			t.Errorf("store %q is %q, want %q", name, got, want)
		}
	}
	if got := byName["sessions"].Format; got != New().Name() {
		t.Errorf("sessions have the format %q, want %q", got, New().Name())
	}
}
