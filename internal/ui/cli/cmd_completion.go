package cli

import (
	"strings"

	"github.com/spf13/cobra"
)

var shells = []string{"bash", "zsh", "fish", "powershell"}

func newCompletionCommand(a *App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "completion {" + strings.Join(shells, " | ") + "}",
		Short: "Print the completion script of a shell",
		Long: `Print a script that completes the commands and flags of pigrep in a shell. Load
it in the startup file of your shell, as shown below.`,
		Example: `source <(pigrep completion bash)
pigrep completion zsh > "${fpath[1]}/_pigrep"
pigrep completion fish > ~/.config/fish/completions/pigrep.fish`,
		ValidArgs: shells,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("example: pigrep completion bash", "completion takes one argument, a shell: %s", strings.Join(shells, ", "))
			}
			root := cmd.Root()
			switch args[0] {
			case "bash":
				return root.GenBashCompletionV2(a.out, true)
			case "zsh":
				return root.GenZshCompletion(a.out)
			case "fish":
				return root.GenFishCompletion(a.out, true)
			case "powershell":
				return root.GenPowerShellCompletionWithDesc(a.out)
			}
			return usagef("", "unknown shell %q: use one of %s", args[0], strings.Join(shells, ", "))
		},
	}
	ignoreShared(cmd, []flagGroup{groupWhere, groupOutput})
	return cmd
}
