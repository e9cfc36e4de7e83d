package printer

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"pigrep/internal/human"
	"pigrep/internal/terminal"
)

// indexLine says in one line what an update of the index did or would do.
func indexLine(x *Index) string {
	var changes []string
	files := 0
	for _, c := range x.Changes {
		files += c.Files
		if c.Files > 0 && c.Change != "unchanged" {
			changes = append(changes, fmt.Sprintf("%s %s", human.Number(c.Files), c.Change))
		}
	}
	line := human.Plural(files, "file", "files")
	if len(changes) == 0 {
		return line + ", nothing new"
	}
	line += " (" + strings.Join(changes, ", ") + ")"
	if x.DryRun {
		return line + ", " + human.Bytes(x.Bytes) + " to read"
	}
	return line + ", " + human.Bytes(x.Bytes) + " read"
}

func (t *text) Index(x *Index) error {
	var b strings.Builder
	for _, s := range x.Steps {
		path := human.Path(s.Path, t.Home)
		line := fmt.Sprintf("%-10s %8s  ", s.Change, human.Bytes(s.Bytes))
		path = terminal.ClipLeft(terminal.Clean(path), max(20, t.Width-terminal.Width(line)))
		fmt.Fprintf(&b, "%s%s\n", line, path)
		if s.Reason != "" {
			fmt.Fprintf(&b, "%s%s\n", strings.Repeat(" ", terminal.Width(line)), t.dim(terminal.Clean(s.Reason)))
		}
	}
	fmt.Fprintln(&b, indexLine(x))
	_, err := io.WriteString(t.w, b.String())
	return err
}

// row is a line of a report.
type row struct{ name, value string }

// figures writes numbers and sizes.
type figures struct {
	count func(n int64) string
	size  func(n int64) string
}

var (
	forPeople   = figures{human.Number[int64], human.Bytes}
	forPrograms = figures{decimal, decimal}
)

func decimal(n int64) string { return strconv.FormatInt(n, 10) }

// statusRows is the status as names and values; paths under home are shown
// with ~.
func statusRows(s *Status, home string, figures figures) []row {
	look := Look{Home: home}
	var rows []row
	count := func(n int) string { return figures.count(int64(n)) }
	add := func(name, format string, args ...any) {
		rows = append(rows, row{name, fmt.Sprintf(format, args...)})
	}
	for _, r := range s.Roots {
		state := human.Plural(r.Files, "file", "files")
		if r.Error != "" {
			state = r.Error
		}
		add("root", "%s (%s): %s", human.Path(r.Path, look.Home), r.Origin, state)
	}
	add("index", "%s", human.Path(s.Dir, look.Home))
	switch {
	case s.Damage != "":
		add("state", "%s", s.Damage)
		return rows
	case !s.Built:
		add("state", "not built yet")
	case s.State.Complete:
		add("state", "complete, generation %d", s.State.Generation)
	default:
		add("state", "behind, generation %d", s.State.Generation)
	}
	if s.Writer != 0 {
		add("writer", "%s", processText(s.Writer))
	}
	if w := s.Watcher; w != nil {
		add("watcher", "%s", watcherText(w))
	}
	var changes []string
	for _, c := range s.Changes {
		if c.Files > 0 {
			changes = append(changes, fmt.Sprintf("%s %s", count(c.Files), c.Change))
		}
	}
	if len(changes) > 0 {
		add("files", "%s", strings.Join(changes, ", "))
	}
	if s.State.PendingFiles > 0 {
		add("pending", "%s, %s", human.Plural(s.State.PendingFiles, "file", "files"), figures.size(s.State.PendingBytes))
	}
	if s.Built {
		add("sessions", "%s", count(s.Sessions))
		add("entries", "%s", count(s.Entries))
		add("documents", "%s", count(s.Documents))
		for _, k := range s.Kinds {
			add("  "+k.Kind, "%s", count(k.Documents))
		}
		add("indexed", "%s", figures.size(s.Indexed))
		add("size", "%s", figures.size(s.Size))
		if s.Indexed > 0 {
			add("share", "%d %% of the session files", (100*s.Size+s.Indexed/2)/s.Indexed)
		}
		if !s.Newest.IsZero() {
			add("newest", "%s", s.Newest.UTC().Format(statusTime))
		}
		if !s.Updated.IsZero() {
			add("updated", "%s, %s kept", s.Updated.UTC().Format(statusTime), human.Plural(s.Kept, "generation", "generations"))
		}
		add("skipped", "%s", human.Plural(s.State.SkippedLines, "line", "lines"))
	}
	for _, k := range s.Skipped {
		add("  line", "%s:%d (offset %d): %s", human.Path(k.Path, look.Home), k.Line, k.Offset, k.Reason)
	}
	if more := s.State.SkippedLines - len(s.Skipped); more > 0 && s.Built {
		add("  more", "%s: pigrep status --skipped", human.Plural(more, "line", "lines"))
	}
	for _, e := range s.Errors {
		add("unreadable", "%s: %s", human.Path(e.Path, look.Home), e.Reason)
	}
	return rows
}

// statusTime is how a status writes times, which are in UTC.
const statusTime = "2006-01-02 15:04:05Z"

func processText(pid int) string {
	if pid < 0 {
		return "another process"
	}
	return fmt.Sprintf("process %d", pid)
}

func watcherText(w *Watcher) string {
	text := processText(w.PID)
	if !w.Started.IsZero() {
		text += " since " + w.Started.UTC().Format(statusTime)
	}
	switch {
	case w.Stuck:
		text += ", which does not move: other commands do its work"
	case w.Polling != "":
		text += ", without events: " + w.Polling
	}
	if !w.Scanned.IsZero() {
		text += "; looked at all files " + w.Scanned.UTC().Format(statusTime)
	}
	return text
}

func (t *text) Status(s *Status) error {
	rows := statusRows(s, t.Home, forPeople)
	width := 0
	for _, r := range rows {
		width = max(width, len(r.name))
	}
	var b strings.Builder
	for _, r := range rows {
		fmt.Fprintf(&b, "%s  %s\n", t.dim(terminal.Pad(r.name, width)), terminal.Clean(r.value))
	}
	_, err := io.WriteString(t.w, b.String())
	return err
}

func (t *text) Stores(stores []Store) error {
	var b strings.Builder
	name, coverage := 0, 0
	for _, s := range stores {
		name, coverage = max(name, len(s.Name)), max(coverage, len(s.Coverage))
	}
	for _, s := range stores {
		line := fmt.Sprintf("%s  %s  %s  ", terminal.Pad(s.Name, name), terminal.Pad(s.Coverage, coverage), terminal.Pad(there(s), len("not looked at")))
		path := terminal.ClipLeft(terminal.Clean(human.Path(s.Path, t.Home)), max(20, t.Width-terminal.Width(line)))
		fmt.Fprintf(&b, "%s%s\n", line, path)
		fmt.Fprintf(&b, "%s%s\n", strings.Repeat(" ", name+2), t.dim(terminal.Clip(s.Role+" ("+s.Format+")", max(20, t.Width-name-2))))
	}
	_, err := io.WriteString(t.w, b.String())
	return err
}

func (t *text) Version(v *Version) error {
	parts := slices.DeleteFunc([]string{v.Revision, v.Go, v.Platform}, func(s string) bool { return s == "" })
	_, err := fmt.Fprintf(t.w, "pigrep %s (%s)\n", v.Version, strings.Join(parts, ", "))
	return err
}
