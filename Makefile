# make try       build, then search for Q in your sessions, or in the samples if you have none; after `go install .` only the linker runs
# make check     run before every commit: format, vet, staticcheck, short tests
# make check-all everything else, quick things first: other systems, the race detector where goroutines meet, known
#                vulnerabilities, MCP clients, the package for pi, pages and terminals, the whole program, all tests with
#                the race detector, the real pi, the long tests
# make check-remote  archives on a real OpenSearch, which Maven fetches into OPENSEARCH: one node, and three; needs JDK 17
# make hosts     --on with a real sshd, which is installed if this user may: machines on loopback
# make pi        types and tests of the package for pi, and the package in three versions of the real pi
# make hooks     hooks in the real Claude Code, Codex and pi, if they can be installed
# make test      the short tests, without the race detector; neither pages nor terminals
# make slow      the tests of the whole program, with those that the short run leaves out
# make screens   pages in Chromium and the interactive search in tmux
# make race      the short tests of packages where goroutines meet, with the race detector
# make dist      the files of the release VERSION for all systems, in dist/: archives, packages, formula, checksums
# make packages  build the packages of one system twice, compare them, install, use and purge one
# make cross     vet and compile all tests for the other systems
# make machines  other processors: 32 bits are refused, big-endian is tested where qemu is installed
# make wine      the tests that depend on the system, and the program, built for Windows and run by Wine
# make torture   the long tests with crashes, faults, damage and many processes, with TIMES as many random rounds
# make fuzz      each fuzz target for FUZZTIME
# make bench     measure against peers ROUNDS times on corpora of SIZE megabytes, into docs/BENCHMARKS.md
# make compare   check that this build gives the same answers as the program OLD; WORK keeps the corpus for the next run
# make docs      regenerate the tables, screens and pictures on pages
# make leaks     measure the masking of secrets against the rules of gitleaks, with LEAKS_MB of generated sessions
# make cover     how much of each package its own tests and the end-to-end tests cover
.PHONY: build tested try screens bench compare check check-all check-remote hosts slow fmt lint vet-cross vuln realpi clients pi hooks test race race-all torture fuzz cross machines wine dist packages leaks man docs cover

FUZZTIME ?= 30s
TIMES ?= 1
SIZE ?= 50,300,1024
ROUNDS ?= 1
LEAKS_MB ?= 20
OPENSEARCH ?= $(HOME)/.cache/pigrep-opensearch
Q ?= session timeout
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
URL ?=
PLATFORMS ?= linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64

# Only flags of the linker: what `go install .` compiled is not compiled again.
build:
	go build -ldflags="-s -w -X pigrep/ui/cli.release=$(VERSION)" -o pigrep .

try: build
	./pigrep search $(Q)

bench:
	go run ./lab/bench -sizes $(SIZE) -rounds $(ROUNDS) -out docs/BENCHMARKS.md

compare: build
	go run ./lab/compare -old "$(OLD)" -new ./pigrep $(if $(WORK),-work "$(WORK)")

check: fmt lint test

# Quick things first: if time runs out, the last ones are cut off and named. REPORTED do
# not fail the check: known vulnerabilities appear without a change here, and emulators
# have faults of their own (Wine now and then cannot start a program).
ALL = vet-cross race packages leaks vuln clients pi screens slow hosts hooks race-all realpi check-remote machines wine torture
REPORTED = vuln hooks check-remote machines wine
check-all:
	@set -- $(ALL); trap 'echo "CUT OFF: make $$target $$*"; exit 1' TERM; for target; do \
		shift; echo "== make $$target"; \
		$(MAKE) --no-print-directory $$target && continue; \
		case " $(REPORTED) " in *" $$target "*) echo "REPORTED: make $$target fails, see above";; *) exit 1;; esac; \
	done

check-remote:
	lab/opensearch/assemble.sh $(OPENSEARCH)
	lab/opensearch/assemble.sh $(OPENSEARCH)-secure secure
	PIGREP_OPENSEARCH=$(OPENSEARCH) PIGREP_OPENSEARCH_SECURE=$(OPENSEARCH)-secure go test -count=1 -timeout 60m -v ./lab/opensearch

# Without cgo, as the program is built: otherwise most packages are compiled twice. Only the race detector needs it.
lint test slow screens hosts: export CGO_ENABLED = 0

fmt:
	@out=$$(gofmt -l .); if [ -n "$$out" ]; then echo "gofmt -w these:"; echo "$$out"; exit 1; fi

# go vet and staticcheck at once, which take half of the time that both take one after the other
# with an empty cache. scannererr, which this go vet does not have yet, is wrong about two readers.
lint: export GOGC = 400
lint:
	go run lab/lint/main.go -checks inherit,-scannererr ./...

vet-cross:
	GOOS=windows go vet ./...
	GOOS=darwin go vet ./...

# Known vulnerabilities in dependencies, if the database can be reached.
vuln:
	@if out=$$(go tool govulncheck ./... 2>&1); then echo "$$out" | tail -1; \
	elif echo "$$out" | grep -qiE 'fetching vulnerabilities|dial tcp|no such host|proxyconnect|unexpected status'; then echo "the database of govulncheck cannot be reached: skipped"; \
	else echo "$$out"; exit 1; fi

# The program that tests run, built once for all of them.
TESTED = $(CURDIR)/dist/tested/pigrep
tested:
	@mkdir -p $(dir $(TESTED)) && CGO_ENABLED=0 go build -ldflags="-s -w" -o $(TESTED) .

# Tests that drive a browser or a terminal.
SCREENS = ./lab/e2e/browser ./lab/e2e/terminal

# Tests that need what other tests do without.
DRIVEN = $(SCREENS) ./lab/e2e/hosts ./lab/opensearch

# The packages that take longest begin first, so that none is left alone at the end.
LONG = ./ui/cli ./lab/e2e/program ./lab/e2e ./indexer ./index ./index/segment ./ui/html

test: tested
	PIGREP_PROGRAM=$(TESTED) go test -short -vet=off $(LONG) $$(go list ./... | grep -v -x $(foreach dir,$(DRIVEN),-e pigrep$(patsubst .%,%,$(dir))))

screens: tested
	PIGREP_PROGRAM=$(TESTED) go test -vet=off -timeout 20m $(SCREENS)

# lab/e2e/program runs the program, which has no race detector: race-all leaves it out.
slow: tested
	PIGREP_PROGRAM=$(TESTED) go test -vet=off -timeout 20m ./lab/e2e ./lab/e2e/oracle ./lab/e2e/program

hosts: tested
	@test -x /usr/sbin/sshd || command -v sshd >/dev/null || { [ "$$(id -u)" = 0 ] && apt-get update -qq && apt-get install -y -qq --no-install-recommends openssh-server; } || \
		{ echo "sshd is not installed: apt-get install openssh-server"; exit 1; }
	PIGREP_PROGRAM=$(TESTED) go test -vet=off -count=1 -timeout 20m ./lab/e2e/hosts

# Packages that start goroutines or are used by several. Tests in which one goroutine
# works on much data are skipped here (testkit.Unraced); race-all runs them.
RACED = ./index ./index/segment ./indexer ./query/search ./query/grep ./query/engine/rank ./query/sessions ./query/engine/words \
	./ui/cli/snapshot ./ui/mcp ./ui/tui

race:
	go test -race -short -vet=off $(RACED)

race-all: tested
	PIGREP_PROGRAM=$(TESTED) go test -race -vet=off -timeout 30m $$(go list ./... | grep -v -x $(foreach dir,$(DRIVEN) ./lab/e2e/program,-e pigrep$(patsubst .%,%,$(dir))))

# Compares with the real pi, if it can be installed.
realpi:
	PI_PACKAGE=@earendil-works/pi-coding-agent@0.78.0 testdata/realpi/check.sh

# Talks to the MCP server with clients that others wrote, if they can be installed.
clients:
	testdata/mcp/check.sh

# Tests the package for pi in the real pi, if it can be installed.
pi:
	extensions/pi/test/check.sh

# Runs hooks in agents that npm installs, with a model on this machine.
hooks:
	testdata/hooks/check.sh

torture:
	PIGREP_TORTURE=$(TIMES) go test -count=1 -timeout $$((2 * $(TIMES)))h ./index/... ./indexer ./query/... ./ui/cli ./ui/tui ./lab/e2e/...

fuzz:
	@go list ./... | while read -r pkg; do \
		for target in $$(go test -list '^Fuzz' "$$pkg" | grep '^Fuzz'); do \
			echo "$$pkg $$target"; \
			go test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) "$$pkg" || exit 1; \
		done; \
	done

cross:
	@for os in windows darwin; do \
		echo "$$os" && CGO_ENABLED=0 GOOS=$$os go vet ./... && CGO_ENABLED=0 GOOS=$$os go test -run '^$$' -exec true ./... || exit 1; \
	done

# A 32-bit system is refused with a sentence. A big-endian one reads and writes the same
# bytes, which the tests of the index show where qemu runs them.
machines:
	@if out=$$(CGO_ENABLED=0 GOARCH=386 go build ./index/format 2>&1); then echo "a 32-bit program is built"; exit 1; \
	elif ! echo "$$out" | grep -q needs_a_64_bit_system; then echo "$$out"; exit 1; fi
	@if ! command -v qemu-s390x-static >/dev/null; then echo "qemu-s390x-static is not installed: no big-endian machine is tested"; \
	else CGO_ENABLED=0 GOARCH=s390x go test -vet=off -short -timeout 10m -exec qemu-s390x-static \
		-skip "^Test(KilledWriter|FullDisk|LockOfKilledWriter|UpdateRenewsTheStore|BleveWritesIntoTheStore)$$" ./index/... ./internal/files ./query/search ./query/grep; fi

# The Windows build under Wine, if it is installed.
wine:
	lab/wine/run

man:
	go run . help --man dist/share/man

# What a release has; see docs/release.md. packaging is a module of its own.
dist:
	go -C packaging run . -version "$(VERSION)" -url "$(URL)" -platforms "$(PLATFORMS)" -out ../dist

# A release for one system: built twice, compared, installed, used and purged.
packages:
	@if ! out=$$(go -C packaging mod download 2>&1) && [ "$$CI" != true ]; then echo "the modules of packaging cannot be downloaded: skipped: $$out"; \
	else cd packaging && go vet ./... && $$(cd .. && go tool -n staticcheck) ./... && go test -vet=off -count=1 ./...; fi

# lab/leaks is a module of its own, too.
leaks:
	@if ! out=$$(go -C lab/leaks mod download 2>&1) && [ "$$CI" != true ]; then echo "the modules of lab/leaks cannot be downloaded: skipped: $$out"; \
	else cd lab/leaks && go vet ./... && $$(cd ../.. && go tool -n staticcheck) ./... && LEAKS_MB=$(LEAKS_MB) go test -vet=off -count=1 -v ./...; fi

# Every test that writes to a page: tables first, then the screens of commands.
docs:
	go test ./internal/shellcmd ./internal/redact ./ui/html ./ui/tui -run '^TestDocs$$' -update
	go test ./ui/cli ./lab/e2e/browser -run 'Docs|Screens' -update

# The end-to-end tests cover much of query and indexer.
cover:
	@for pkg in adapter internal/jsonl adapter/pi scope index indexer query/search; do \
		go test -short -coverpkg=pigrep/$$pkg -coverprofile=cover.out ./$$pkg ./lab/e2e >cover.log 2>&1 || { cat cover.log; exit 1; }; \
		echo "$$pkg $$(go tool cover -func=cover.out | tail -1 | tr -s '\t' ' ')"; \
	done; rm -f cover.out cover.log
