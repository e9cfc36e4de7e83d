package cli

import (
	"bytes"
	"context"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"pigrep/ui/cli/app"
	"pigrep/ui/cli/flags"
)

var shells = []string{"bash", "zsh", "fish", "powershell"}

type completionOptions struct{}

func (*completionOptions) addFlags(cmd *cobra.Command) {
	flags.Ignore(cmd, []flags.Group{flags.GroupWhere, flags.GroupOutput})
}

func runCompletion(_ context.Context, a *app.App, _ *completionOptions, args []string) error {
	root := newRootCommand(a)
	switch args[0] {
	case "zsh":
		return root.GenZshCompletion(a.Out)
	case "fish":
		return root.GenFishCompletion(a.Out, true)
	case "powershell":
		return root.GenPowerShellCompletionWithDesc(a.Out)
	}
	return bashCompletion(root, a.Out)
}

// bashCompletion writes cobra's script for bash. It calls two functions of the package
// bash-completion; ours, which work in bash 3.2 of macOS too, replace them.
func bashCompletion(root *cobra.Command, out io.Writer) error {
	var code bytes.Buffer
	if err := root.GenBashCompletionV2(&code, true); err != nil {
		return err
	}
	_, err := bashHelpers.WriteString(out, code.String())
	if err == nil {
		_, err = io.WriteString(out, "\n"+script("completion.bash"))
	}
	return err
}

var bashHelpers = strings.NewReplacer(
	`declare -F _init_completion >/dev/null 2>&1`, `false`,
	`_get_comp_words_by_ref "$@" cur prev words cword`, `__pigrep_words`,
	`_filedir`, `__pigrep_files`,
)
