package adapter

import (
	"net/url"
	"path/filepath"
	"runtime"
	"strings"
)

// Environment is what an adapter may know of the machine.
type Environment struct {
	Home     string                            // the user's home directory
	WorkDir  string                            // the process's working directory, absolute
	Getenv   func(name string) string          // environment variables
	ReadFile func(path string) ([]byte, error) // settings files only; fs.ErrNotExist when absent
}

// Absolute expands a path as agents do: a leading ~ is the home directory, file: URLs
// are paths, and relative paths start at the working directory.
func Absolute(path string, env Environment) string {
	switch {
	case path == "~":
		path = env.Home
	case strings.HasPrefix(path, "~/"), runtime.GOOS == "windows" && strings.HasPrefix(path, `~\`):
		path = filepath.Join(env.Home, path[2:])
	case strings.HasPrefix(path, "file://"):
		if u, err := url.Parse(path); err == nil && (u.Host == "" || u.Host == "localhost") {
			path = u.Path
			if runtime.GOOS == "windows" {
				path = filepath.FromSlash(strings.TrimPrefix(path, "/"))
			}
		}
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(env.WorkDir, path)
	}
	return filepath.Clean(path)
}
