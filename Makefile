# make try     build, and search for Q in the sessions of this machine, or in the samples if it has none
# make check   everything that must hold before a commit
# make test    the tests, as in the README
# make torture the long form of the tests that kill, damage and crowd
# make fuzz    each fuzz target for FUZZTIME
# make bench   measure against peers on corpora of SIZE megabytes, into docs/BENCHMARKS.md
.PHONY: build try bench torture check fmt vet staticcheck test race fuzz

FUZZTIME ?= 30s
SIZE ?= 50,300,1024
Q ?= connection timeout

build:
	CGO_ENABLED=0 go build -trimpath -ldflags="-s -w" -o pigrep .

try: build
	./pigrep search $(Q)

bench:
	go run ./internal/bench -sizes $(SIZE) -out docs/BENCHMARKS.md

check: fmt vet staticcheck race

fmt:
	@out=$$(gofmt -l .); if [ -n "$$out" ]; then echo "gofmt -w these:"; echo "$$out"; exit 1; fi

vet:
	go vet ./...
	GOOS=windows go vet ./...
	GOOS=darwin go vet ./...

staticcheck:
	go tool staticcheck ./...

test:
	go test ./...

race:
	go test -race ./...

torture:
	PIGREP_TORTURE=1 go test -count=1 -timeout 2h ./index/... ./indexer ./query ./internal/e2e/...

fuzz:
	@go list ./... | while read -r pkg; do \
		for target in $$(go test -list '^Fuzz' "$$pkg" | grep '^Fuzz'); do \
			echo "$$pkg $$target"; \
			go test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) "$$pkg" || exit 1; \
		done; \
	done
