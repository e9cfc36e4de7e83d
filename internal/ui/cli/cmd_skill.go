package cli

import (
	"bufio"
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"pigrep/internal/files"
)

//go:embed skill.md
var skillText []byte

// packageName is the name of the package for pi.
const packageName = "pi-pigrep"

type skillOptions struct {
	install, yes bool
}

func newSkillCommand(a *App) *cobra.Command {
	o := &skillOptions{}
	cmd := &cobra.Command{
		Use:   "skill",
		Short: "Print or install a skill that teaches pi to use pigrep",
		Long: `Print a SKILL.md that teaches an agent when to search past sessions, how to
write a query, and how to read further. --install writes it to the skills in
pi's agent directory after asking; pi loads it in its next session. It is not
written if pi has the package pi-pigrep, whose tools do the same.`,
		Example: `pigrep skill
pigrep skill --install
pigrep skill > .pi/skills/pigrep/SKILL.md`,
		Args:              noArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return runSkill(a, o) },
	}
	addFlag(cmd.Flags(), "install", "", "", "write it to the agent directory", &o.install)
	addFlag(cmd.Flags(), "yes", "y", "", "with --install: do not ask for confirmation", &o.yes)
	ignoreShared(cmd, []flagGroup{groupWhere, groupOutput})
	return cmd
}

func runSkill(a *App, o *skillOptions) error {
	if !o.install {
		if o.yes {
			return usagef("", "--yes requires --install")
		}
		_, err := a.out.Write(skillText)
		return err
	}
	path := filepath.Join(a.registry().SkillDir(), "pigrep", "SKILL.md")
	had, err := os.ReadFile(path)
	if a.registry().HasPackage(packageName) {
		fmt.Fprintf(a.out, "the skill is left out: pi has the package %s, which gives the model its own tools\n", packageName)
		if err == nil {
			a.warn("the skill that was installed before repeats them; delete it: %s", path)
		}
		return nil
	}
	action := "write " + path
	switch {
	case err == nil && bytes.Equal(had, skillText):
		fmt.Fprintf(a.out, "%s is up to date\n", path)
		return nil
	case err == nil:
		action = "replace " + path
	case !errors.Is(err, fs.ErrNotExist):
		return &problem{code: codeIO, message: "read the installed skill", err: err}
	}
	if !o.yes {
		if !a.Streams.InTTY {
			return usagef("use --yes to confirm", "cannot ask for confirmation without a terminal: %s", action)
		}
		if !a.ask(action + "?") {
			return errNothingFound
		}
	}
	if err := writeSkill(path); err != nil {
		return &problem{code: codeIO, message: "install the skill", err: err, hint: "`pigrep skill` prints it; save it where pi finds skills"}
	}
	fmt.Fprintf(a.out, "wrote %s; pi loads it from the next session on\n", path)
	return nil
}

// ask asks a yes-or-no question. Anything but yes is a no.
func (a *App) ask(question string) bool {
	fmt.Fprintf(a.Streams.Err, "%s [y/N] ", question)
	answer, err := bufio.NewReader(a.Streams.In).ReadString('\n')
	if err != nil {
		fmt.Fprintln(a.Streams.Err)
	}
	answer = strings.ToLower(strings.TrimSpace(answer))
	return answer == "y" || answer == "yes"
}

// writeSkill replaces the file atomically.
func writeSkill(path string) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return files.Replace(path, 0o644, func(w io.Writer) error {
		_, err := w.Write(skillText)
		return err
	})
}
