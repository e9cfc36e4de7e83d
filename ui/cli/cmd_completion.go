package cli

import (
	"bytes"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"pigrep/ui/cli/app"
	"pigrep/ui/cli/flags"
	"pigrep/ui/cli/problem"
)

var shells = []string{"bash", "zsh", "fish", "powershell"}

func newCompletionCommand(a *app.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "completion {" + strings.Join(shells, " | ") + "}",
		Short: "Print the completion script of a shell",
		Long: `Print a script that completes the commands and flags of pigrep in a shell. Load
it in the startup file of your shell, as shown below.`,
		Example: `eval "$(pigrep completion bash)"
pigrep completion zsh > "${fpath[1]}/_pigrep"
pigrep completion fish > ~/.config/fish/completions/pigrep.fish`,
		ValidArgs: shells,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return problem.Usagef("example: pigrep completion bash", "completion takes one argument, a shell: %s", strings.Join(shells, ", "))
			}
			root := cmd.Root()
			switch args[0] {
			case "bash":
				return bashCompletion(root, a.Out)
			case "zsh":
				return root.GenZshCompletion(a.Out)
			case "fish":
				return root.GenFishCompletion(a.Out, true)
			case "powershell":
				return root.GenPowerShellCompletionWithDesc(a.Out)
			}
			return problem.Usagef("", "unknown shell %q: use one of %s", args[0], strings.Join(shells, ", "))
		},
	}
	flags.Ignore(cmd, []flags.Group{flags.GroupWhere, flags.GroupOutput})
	return cmd
}

// bashCompletion writes cobra's script for bash. It calls two functions of the package
// bash-completion; ours replace them where that is not installed.
func bashCompletion(root *cobra.Command, out io.Writer) error {
	var script bytes.Buffer
	if err := root.GenBashCompletionV2(&script, true); err != nil {
		return err
	}
	_, err := bashHelpers.WriteString(out, script.String())
	if err == nil {
		_, err = io.WriteString(out, bashFunctions)
	}
	return err
}

var bashHelpers = strings.NewReplacer(
	`declare -F _init_completion >/dev/null 2>&1`, `false`,
	`_get_comp_words_by_ref "$@" cur prev words cword`, `__pigrep_words`,
	`_filedir`, `__pigrep_files`,
)

// bashFunctions work in bash 3.2 too, which macOS has.
const bashFunctions = `
# Sets cur, prev, words and cword to the words up to the cursor. Unlike COMP_WORDS, words
# end only at white space, not at = and :.
__pigrep_words()
{
    local line=${COMP_LINE:0:COMP_POINT} i word space
    words=() cword=-1
    for ((i = 0; i <= COMP_CWORD; i++)); do
        space=${line%%[![:space:]]*}
        line=${line:${#space}}
        word=${COMP_WORDS[i]}
        ((i == COMP_CWORD)) && word=$line
        if ((cword < 0)) || [[ -n $space ]]; then
            words[++cword]=$word
        else
            words[cword]+=$word
        fi
        line=${line:${#word}}
    done
    cur=${words[cword]} prev=
    ((cword == 0)) || prev=${words[cword-1]}
}

# Sets COMPREPLY to the files, or with -d the directories, that cur begins.
__pigrep_files()
{
    local kind=-f name
    [[ ${1-} != -d ]] || kind=-d
    [[ $(type -t compopt) != builtin ]] || compopt -o filenames
    while IFS='' read -r name; do
        COMPREPLY+=("$name")
    done < <(compgen "$kind" -- "$cur")
}
`
