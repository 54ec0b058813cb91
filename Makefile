# filemill: every way to run, check and build it.
SHELL := /bin/sh
export PATH := $(CURDIR)/node_modules/.bin:$(PATH)
ZIG ?= zig
# Version of the module that signs.
COSIGN ?= v2.6.5
comma := ,
# TOOLCHAINS=image,pdf installs and serves only these.
export TOOLCHAINS ?=
LISTS := $(if $(TOOLCHAINS),$(patsubst %,images/%/packages.txt,$(subst $(comma), ,$(TOOLCHAINS))),$(wildcard images/*/packages.txt))
UNKNOWN := $(filter-out $(wildcard images/*/packages.txt),$(LISTS))
ifneq ($(UNKNOWN),)
$(error TOOLCHAINS: there is no toolchain $(patsubst images/%/packages.txt,%,$(UNKNOWN)); there are: $(patsubst images/%/packages.txt,%,$(wildcard images/*/packages.txt)))
endif

.DEFAULT_GOAL := help
.PHONY: help start setup node web command launcher launcher-cross test-tools servers test-servers checked tested run generate check verify unit integration test test-all proved bench clean version release dist try-publishing cosign login publish-chart publish-images publish-npm sign publish-release image images cluster cluster-packages bare e2e

help: ## Says what each target does
	@sed -n 's/^\([a-z0-9-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 22

run: start ## Serves on http://localhost:8080 (PORT and DATA_DIR change it, TOOLCHAINS=image,pdf serves only these); Ctrl-C drains and stops
	@# Beside the service, which need not wait for it.
	@(nice -n 19 scripts/security-updates $(LISTS) &) ; exec scripts/filemill local

# Debian's packages, and beside them what needs Node alone, $(1): either takes a minute or two.
define install
	@[ -d node_modules ] || echo "  beside Debian's packages, and shown after them: Node and its libraries"
	@{ echo libatomic1; command -v cc >/dev/null || printf 'gcc\nlibc6-dev\n'; } | scripts/beside '$(1)' scripts/install-packages --for 'converters, what Node needs, a compiler for the launcher' $(LISTS) -
	@scripts/build-launcher && scripts/build-native
endef

start: ## Installs what is missing to serve, and does not serve
	$(call install,scripts/setup-node; scripts/build-web; scripts/build-command; scripts/setup-models)

setup: ## Installs what is missing to serve, to test and to check: Node and libraries, the launcher, the page, the converters
	$(call install,scripts/setup-node --dev; scripts/build-web; scripts/build-command)

node:
	@scripts/setup-node --dev

# What these need is installed before, by `start`, `setup` or `node`.
command: ## Builds the commands on files, where they are older than their sources
	@scripts/build-command

web: ## Builds the page for browsers, where it is older than its sources
	@scripts/build-web

launcher:
	@scripts/build-launcher
	@scripts/build-native

launcher-cross: ## Compiles the launcher with clang for x86_64 and aarch64, into .cache/cross; needs zig
	@set -e; for cpu in x86_64 aarch64; do CC="$(ZIG) cc -target $$cpu-linux-musl" scripts/build-launcher .cache/cross/launcher-$$cpu; done

test-tools:
	@scripts/install-packages --for tests test/packages.txt
	@scripts/setup-models --needed u2net whisper-base realesrgan-x4plus ppocr-v4
	@node scripts/setup-photos.ts
	@scripts/setup-schemathesis
	@scripts/setup-typed-client
	@scripts/setup-mcp-suites
	@scripts/setup-verapdf

servers:
	@scripts/build-servers helm kstatus kwok

# Those that most tests need: scripts/test.ts builds others that a named test starts.
test-servers:
	@scripts/build-servers

images: setup cluster-packages ## Builds the container images with buildah or docker, fails for pending updates, and converts a file in each; APT_SNAPSHOT pins Debian's packages by date
	@scripts/images
	@scripts/images --check
	@scripts/images --smoke

image: setup cluster-packages ## Builds one image with everything, filemill/filemill, and converts files in it; TOOLCHAINS=image,pdf: with these alone
	@scripts/images all
	@scripts/images --check all
	@scripts/images --smoke all

cluster: setup cluster-packages ## Builds what scripts/cluster needs: a real Kubernetes cluster on this machine, to play with
	@scripts/build-servers cluster
	@echo "cluster: no image comes from docker.io; scripts/cluster servers makes images of NATS and MinIO from .cache/bin, scripts/cluster up starts it"

cluster-packages:
	@command -v docker >/dev/null && command -v runc >/dev/null && command -v nft >/dev/null || scripts/install-packages --for 'a cluster and images without Docker' test/e2e/packages.txt

bare: setup
	@scripts/install-packages --for 'a bare Debian 12' test/e2e/bare/packages.txt
	@node test/e2e/run.ts bare

e2e: ## Runs `make run` on a bare Debian 12, installs the chart on a real cluster made here, and uses, upgrades and removes it; PARTS="--keep install" runs some of it; needs root
	@[ "$$(id -u)" = 0 ] || { echo 'e2e: it needs root, for containers on this machine' >&2; exit 1; }
	@$(MAKE) --no-print-directory setup cluster-packages
	@# Beside each other: one mostly compiles, the others mostly download and unpack.
	@$(MAKE) --no-print-directory -j3 cluster images $(if $(PARTS),,bare)
	@$(if $(findstring autoscaling,$(PARTS)),scripts/build-servers autoscalers)
	@scripts/e2e $(PARTS)

version: node ## Writes a version wherever it stands, before a release: make version VERSION=0.2.0
	@node scripts/versions.ts '$(VERSION)'
	@$(MAKE) --no-print-directory generate
	@node scripts/versions.ts '$(VERSION)' --released

release: setup test-tools ## Checks that this commit may be the release VERSION=0.2.0, and tags it; CHECK=1: without the tag
	@node scripts/release.ts '$(VERSION)' $(if $(CHECK),--check)

dist: setup ## Makes what a release has beside images, in .cache/dist: npm package, chart, lists of contents, provenance, sums
	@scripts/build-servers helm
	@node scripts/dist.ts

try-publishing: dist ## Publishes what `make dist` has made to registries on this machine, and checks the workflows by actionlint; needs Go
	@scripts/try-publishing

# What signs, and asks a registry which image it has.
cosign:
	@command -v cosign >/dev/null || [ -x .cache/bin/cosign ] || GOBIN=$(CURDIR)/.cache/bin go install github.com/sigstore/cosign/v2/cmd/cosign@$(COSIGN)

login: cosign ## Logs in to REGISTRY as ACTOR, with the password on standard input, for what publishes and signs there
	@{ read -r password || [ -n "$$password" ]; } && for tool in 'buildah login' '.cache/bin/helm registry login' 'cosign login'; do \
		printf '%s' "$$password" | PATH="$$PATH:$(CURDIR)/.cache/bin" $$tool --username "$$ACTOR" --password-stdin "$${REGISTRY%%/*}" || exit 1; done

publish-chart: ## Publishes the chart of `make dist` to oci://REGISTRY/charts
	@scripts/publish chart

publish-images: cosign ## Publishes the images of `make images` and `make image` to REGISTRY
	@scripts/publish images

publish-npm: ## Publishes the npm package of `make dist` to NPM_REGISTRY
	@scripts/publish npm

sign: cosign ## Signs published images and the sums of `make dist` by cosign: with COSIGN_KEY, or keyless
	@scripts/publish sign

publish-release: ## Publishes the files of `make dist` as the release TAG on GitHub, with its section of the changelog
	@version=$${TAG#v}; notes=$$(node scripts/release.ts "$$version" --notes) && cd .cache/dist && printf '%s\n' "$$notes" | \
		gh release create "$$TAG" --verify-tag --title "filemill $$version" --notes-file - "filemill-$$version.tgz" "filemill-chart-$$version.tgz" \
		"filemill-$$version.npm.spdx.json" "filemill-$$version.intoto.json" SHA256SUMS SHA256SUMS.sigstore.json

generate: node ## Writes every file that is derived from others
	@node scripts/generate.ts && node scripts/regular-expressions.ts --write

# EXPRESSIONS=--all judges regular expressions again that were found safe.
check: node
	@echo "verify: format and lint" && biome check --error-on-warnings .
	@echo "verify: types" && tsc -p . && tsc -p web && tsc -p clients/typescript
	@echo "verify: generated files" && node scripts/generate.ts --check
	@echo "verify: regular expressions" && node scripts/regular-expressions.ts $(EXPRESSIONS)
	@echo "verify: subjects of new commits" && node scripts/commit-subjects.ts

verify: check ## Checks format, lint, types, generated files, regular expressions, subjects of commits, the architecture, the list of what was proved, and that tests name each member of the catalogue
	@echo "verify: architecture, that what is offered was proved, and that tests name it" && vitest run --reporter=dot test/architecture.test.ts test/unit/catalog/proved.test.ts test/unit/project/members.test.ts

test: ## What verify checks, then tests on real servers, converters and files: every file, of long tables rows that the commit draws; CHANGED=1: what the changes since main concern
	@$(MAKE) --no-print-directory --jobs=2 $(if $(CHANGED),test-servers,servers) tested

test-all: export EXPRESSIONS := --all
test-all: ## The same with every row: all hostile files, faults and kills
	@$(MAKE) --no-print-directory --jobs=2 servers tested WHOLE=1

# While Go compiles servers beside it, which scripts/test.ts waits for before what starts them.
tested: checked
	@MAKEFLAGS= node scripts/test.ts $(if $(WHOLE),--all,$(if $(CHANGED),--changed))

# One after another, while Go compiles servers beside them. What verify runs of the tests comes with all of them.
checked:
	@MAKEFLAGS= $(MAKE) --no-print-directory setup test-tools check

unit: node launcher ## Tests that start no server, a minute, or some of them: make unit FILES='test/unit/catalog/names.test.ts'
	@vitest run $(or $(FILES),test/unit test/architecture.test.ts)

integration: setup test-tools servers ## The others, or some of them: make integration FILES='test/integration/api/http.test.ts'
	@vitest run --maxWorkers=2 $(or $(FILES),test/integration test/conformance test/cluster)

proved: setup test-tools ## Proves every conversion that is offered, and writes down which, and with which versions of the engines; PROVE_AT=http://host:8080 RELEASE=trixie: by a service on another Debian
	@PAIRS=all vitest run test/formats --reporter=default --reporter=json --outputFile.json=.cache/proved-report.json && node scripts/proved.ts

bench: setup test-tools $(if $(PEERS),,servers) ## Measures beside the raw tools, in one run; PART=cluster and the like measure one part; PEERS=<folder>: beside imgproxy and Gotenberg, built from their checkouts there
	@$(if $(PEERS),scripts/install-packages --for 'peers to measure beside' bench/peers/packages.txt)
	@node bench/run.ts $(if $(PEERS),--peers '$(PEERS)',$(PART))

clean: ## Removes what was built (not the data folder)
	rm -rf .cache node_modules
