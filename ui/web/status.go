package web

import (
	"net/http"
	"strings"

	"pigrep/ui/html"
)

// statusPage is the data of the template "status".
type statusPage struct {
	Damage string
	Facts  []statusFact
}

type statusFact struct {
	Name, Value string
	Detail      bool // a detail of the fact before
}

// showStatus shows what is indexed, how fresh it is, and what was skipped.
func (s *Server) showStatus(w http.ResponseWriter, r *http.Request) error {
	status, err := s.Status()
	if err != nil {
		return err
	}
	p := &statusPage{Damage: html.Line(status.Damage)}
	for name, value := range status.Facts(s.Home, s.Now().In(s.Zone)) {
		text := strings.TrimLeft(name, " ")
		p.Facts = append(p.Facts, statusFact{text, html.Line(value), text != name})
	}
	return s.show(w, r, "status", "Status", p)
}
