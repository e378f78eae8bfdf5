# Hapax: `make run` and `make test` are all that most people need.

GO      ?= go
TOOL     = $(GO) tool -modfile=tools/go.mod
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
LDFLAGS  = -s -w -X main.version=$(VERSION)
BIN      = bin/hapax-server
PORT    ?= 6379
FUZZTIME ?= 3s
MODULES  = . e2e bench

.DEFAULT_GOAL := build
.PHONY: build run test race e2e-race kill sim prove fuzz lint fmt fmt-check vet tidy-check cross check bench plots bench-compare image image-try clean

build: ## the server, static, in bin/
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o $(BIN) ./cmd/server

run: build ## build and serve on 6379, data in ./data
	@mkdir -p data
	$(BIN) --port $(PORT) --dir data

# The e2e tests build the server themselves, which go test's cache can't see.
test: ## every test of every module
	$(GO) test ./...
	cd e2e && $(GO) test -count=1 ./...
	cd bench && $(GO) test -count=1 ./...

race: ## the unit tests and scripts under the race detector
	$(GO) test -race ./...

e2e-race: ## the end-to-end tests against a server built with the race detector
	cd e2e && HAPAX_E2E_RACE=1 $(GO) test -count=1 -short ./...

kill: ## SIGKILL and power cuts under load, CYCLES times for each backend, number of loops and file system
	cd e2e && HAPAX_KILL_CYCLES=$(or $(CYCLES),50) $(GO) test -count=1 -run 'TestKill|TestPowerCut' -v -timeout 0 .

sim: ## the crash simulation: SEEDS random runs and every script; WHOLE=1 for every crash point; SEED=N again (RUN=TestRandomSecrets for that one)
	cd internal/sim && $(GO) test -count=1 -timeout 0 $(if $(SEED),-run '^$(or $(RUN),TestRandom)$$' -v -show -seed $(SEED),-seeds $(or $(SEEDS),1000) -first $(or $(FIRST),1) $(if $(WHOLE),-whole))

prove: ## break each promise in a copy of the tree and see its test fail, ONLY=text for some; minutes
	HAPAX_PROVE="$(or $(ONLY),1)" $(GO) test ./internal/lint -run 'TestMutationsApply|TestEveryBreakIsSeen' -v -timeout 60m

fuzz: ## each fuzz target for FUZZTIME, from its committed seeds
	tools/fuzz.sh $(FUZZTIME)

lint: vet ## staticcheck over every module
	@for m in $(MODULES); do echo "== staticcheck ($$m)"; (cd $$m && $(GO) tool -modfile=$(CURDIR)/tools/go.mod staticcheck ./...) || exit 1; done

vet:
	@for m in $(MODULES); do (cd $$m && $(GO) vet ./...) || exit 1; done

fmt: ## goimports over every file
	$(TOOL) goimports -local github.com/hapaxkv/hapax -w $$(git ls-files '*.go')

fmt-check:
	@out=$$($(TOOL) goimports -local github.com/hapaxkv/hapax -l $$(git ls-files '*.go')) || exit 1; \
	if [ -n "$$out" ]; then echo "not formatted (make fmt):"; echo "$$out"; exit 1; fi

tidy-check: ## go.mod and go.sum are what the code needs, no more
	@for m in $(MODULES); do (cd $$m && $(GO) mod tidy -diff) || exit 1; done

cross: ## everything compiles for each system we name, its tests too
	@for os in linux darwin; do for arch in amd64 arm64; do \
		echo "== $$os/$$arch"; \
		CGO_ENABLED=0 GOOS=$$os GOARCH=$$arch $(GO) build ./... || exit 1; \
		CGO_ENABLED=0 GOOS=$$os GOARCH=$$arch $(GO) vet ./... || exit 1; \
	done; done

check: fmt-check tidy-check lint build cross race e2e-race fuzz ## what CI runs beside `make test`

bench: build ## Hapax beside redis-server and valkey-server; ONLY='GET P16' for some rows, BENCH_QUICK=1 for a short look, JSON=FILE
	cd bench && $(GO) build -o ../bin/bench . && cd .. && exec bin/bench -hapax $(BIN) $(if $(ONLY),-only '$(ONLY)') $(if $(JSON),-json '$(JSON)')

plots: ## tables and pictures of docs/performance.md from what JSON=FILE of bench left; FILE,FILE for several runs
	cd bench && $(GO) build -o ../bin/bench . && cd .. && exec bin/bench -plot '$(or $(JSON),results.json)' -doc docs/performance.md

bench-compare: ## Go benchmarks of the working tree against REF: make bench-compare REF=main PKG=./internal/wal
	tools/bench-compare.sh $(or $(REF),HEAD) $(or $(PKG),./internal/...)

image: ## a container image from the local static binary, no registry needed
	docker/image.sh $(VERSION)

image-try: ## build the image and run it with buildah: flags, a file, health check, user
	docker/try.sh

clean:
	rm -rf bin
