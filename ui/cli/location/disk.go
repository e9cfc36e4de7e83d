package location

import (
	"pigrep/adapter"
	"pigrep/internal/content"
	"pigrep/query/engine/entry"
)

// Disk opens session files for package query.
type Disk struct{ Limits adapter.Limits }

// Open implements entry.Source.
func (d Disk) Open(path string) (entry.File, error) {
	f, err := content.Open(path, d.Limits.Text)
	if err != nil {
		return nil, err
	}
	return f, nil
}

// Disk returns the source of the session files of this machine.
func (p *Location) Disk() Disk { return Disk{adapter.LimitsOf(p.Agents)} }

func (p *Location) OpenSession(path string) (*content.File, error) {
	return content.Open(path, adapter.LimitsOf(p.Agents).Text)
}

// IsFile reports whether there is a session at a path.
func IsFile(path string) bool {
	info, err := content.Stat(path)
	return err == nil && !info.IsDir()
}
