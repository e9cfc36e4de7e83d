# {name} searches past conversations and puts the command that resumes the
# chosen session on the command line.
function __pigrep_tui
	set -l chosen (command pigrep tui --print -- (commandline | string collect) </dev/tty | string collect)
	if test -n "$chosen"
		commandline --replace -- $chosen
	end
	commandline --function repaint
end
if command --query pigrep
	bind {key} __pigrep_tui
	bind --mode insert {key} __pigrep_tui
end
