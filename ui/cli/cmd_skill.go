package cli

import (
	"bufio"
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"pigrep/internal/files"
	"pigrep/ui/cli/app"
	"pigrep/ui/cli/flags"
	"pigrep/ui/cli/problem"
)

//go:embed skill.md
var skillText []byte

// packageName is the name of the package for pi.
const packageName = "pi-pigrep"

type skillOptions struct {
	install, yes bool
}

func (o *skillOptions) addFlags(cmd *cobra.Command) {
	flags.Add(cmd.Flags(), "install", "", "", "write it to the agent directory", &o.install)
	flags.Add(cmd.Flags(), "yes", "y", "", "with --install: do not ask for confirmation", &o.yes)
	flags.Ignore(cmd, []flags.Group{flags.GroupWhere, flags.GroupOutput})
}

func runSkill(_ context.Context, a *app.App, o *skillOptions, _ []string) error {
	if !o.install {
		if o.yes {
			return problem.Usagef("", "--yes requires --install")
		}
		_, err := a.Out.Write(skillText)
		return err
	}
	path := filepath.Join(a.Registry().SkillDir(), "pigrep", "SKILL.md")
	out, had, err := readSkill(path)
	if err != nil {
		return &problem.Error{Code: problem.CodeIO, Message: "cannot read the installed skill", Err: err}
	}
	if a.Registry().HasPackage(packageName) {
		fmt.Fprintf(a.Out, "the skill is left out: pi has the package %s, which gives the model its own tools\n", packageName)
		if out.Kind != files.Missing {
			a.Warn("the skill that was installed before repeats them; delete it: %s", path)
		}
		return nil
	}
	action := "write " + path
	switch {
	case out.Kind == files.File && bytes.Equal(had, skillText):
		fmt.Fprintf(a.Out, "%s is up to date\n", path)
		return nil
	case out.Kind == files.File:
		action = "replace " + path
	}
	if !o.yes {
		if !a.Streams.InTTY {
			return problem.Usagef("use --yes to confirm", "cannot ask for confirmation without a terminal: %s", action)
		}
		if !ask(a, action+"?") {
			return problem.ErrNothingFound
		}
	}
	if err := writeSkill(path, out); err != nil {
		return &problem.Error{Code: problem.CodeIO, Message: "cannot install the skill", Err: err, Hint: "`pigrep skill` prints it; save it where pi finds skills"}
	}
	fmt.Fprintf(a.Out, "wrote %s; pi loads it from the next session on\n", path)
	return nil
}

// ask asks a yes-or-no question. Anything but yes is a no.
func ask(a *app.App, question string) bool {
	fmt.Fprintf(a.Streams.Err, "%s [y/N] ", question)
	answer, err := bufio.NewReader(a.Streams.In).ReadString('\n')
	if err != nil {
		fmt.Fprintln(a.Streams.Err)
	}
	answer = strings.ToLower(strings.TrimSpace(answer))
	return answer == "y" || answer == "yes"
}

// readSkill reads what is installed. Only a file can be replaced by a skill.
func readSkill(path string) (*files.Output, []byte, error) {
	out, err := files.FindOutput(path)
	if err != nil || out.Kind == files.Missing {
		return out, nil, err
	}
	if out.Kind != files.File {
		return nil, nil, fmt.Errorf("%s is not a regular file", path)
	}
	out.Overwrite = true
	had, err := os.ReadFile(out.Path)
	return out, had, err
}

// writeSkill replaces the file atomically.
func writeSkill(path string, out *files.Output) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return out.Replace(0o644, func(w io.Writer) error {
		_, err := w.Write(skillText)
		return err
	})
}
