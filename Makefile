# make check   everything that must hold before a commit
# make test    the tests, as in the README
# make fuzz    each fuzz target for FUZZTIME
.PHONY: build check fmt vet staticcheck test race fuzz

FUZZTIME ?= 30s

build:
	CGO_ENABLED=0 go build -trimpath -ldflags="-s -w" -o pigrep .

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

fuzz:
	@go list ./... | while read -r pkg; do \
		for target in $$(go test -list '^Fuzz' "$$pkg" | grep '^Fuzz'); do \
			echo "$$pkg $$target"; \
			go test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) "$$pkg" || exit 1; \
		done; \
	done
