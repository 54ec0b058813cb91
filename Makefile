# filemill: every way to run, check and build it.
SHELL := /bin/sh
export PATH := $(CURDIR)/node_modules/.bin:$(PATH)
ZIG ?= zig
comma := ,
# TOOLCHAINS=image,pdf installs and serves only these.
export TOOLCHAINS ?=
LISTS := $(if $(TOOLCHAINS),$(patsubst %,images/%/packages.txt,$(subst $(comma), ,$(TOOLCHAINS))),$(wildcard images/*/packages.txt))
UNKNOWN := $(filter-out $(wildcard images/*/packages.txt),$(LISTS))
ifneq ($(UNKNOWN),)
$(error TOOLCHAINS: there is no toolchain $(patsubst images/%/packages.txt,%,$(UNKNOWN)); there are: $(patsubst images/%/packages.txt,%,$(wildcard images/*/packages.txt)))
endif

.DEFAULT_GOAL := help
.PHONY: help start setup node web command launcher launcher-cross test-tools servers test-servers checked run generate check verify unit integration test test-all proved bench clean images cluster cluster-packages bare e2e

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
	@scripts/setup-models --needed u2net whisper-base realesrgan-x4plus
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

cluster: setup cluster-packages ## Builds what scripts/cluster needs: a real Kubernetes cluster on this machine, to play with
	@scripts/build-servers cluster
	@echo "cluster: no image comes from docker.io; scripts/cluster servers makes images of NATS and MinIO from .cache/bin, scripts/cluster up starts it"

cluster-packages:
	@command -v docker >/dev/null && command -v runc >/dev/null || scripts/install-packages --for 'a cluster and images without Docker' test/e2e/packages.txt

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

generate: node ## Writes every file that is derived from others
	@node scripts/generate.ts && node scripts/regular-expressions.ts --write

# EXPRESSIONS=--all judges regular expressions again that were found safe.
check: node
	@echo "verify: format and lint" && biome check --error-on-warnings .
	@echo "verify: types" && tsc -p . && tsc -p web
	@echo "verify: generated files" && node scripts/generate.ts --check
	@echo "verify: regular expressions" && node scripts/regular-expressions.ts $(EXPRESSIONS)
	@echo "verify: subjects of new commits" && node scripts/commit-subjects.ts

verify: check ## Checks format, lint, types, generated files, regular expressions, subjects of commits, the architecture, the list of what was proved, and that tests name each member of the catalogue
	@echo "verify: architecture, that what is offered was proved, and that tests name it" && vitest run --reporter=dot test/architecture.test.ts test/unit/catalog/proved.test.ts test/unit/project/members.test.ts

test: ## What verify checks, then tests on real servers, converters and files: half of the files of each folder and rows of long tables, drawn by the commit; CHANGED=1: what the changes since main concern
	@$(MAKE) --no-print-directory --jobs=2 $(if $(CHANGED),test-servers,servers) checked
	@node scripts/test.ts $(if $(CHANGED),--changed)

test-all: export EXPRESSIONS := --all
test-all: ## The same with every row: all hostile files, faults and kills
	@$(MAKE) --no-print-directory --jobs=2 servers checked
	@node scripts/test.ts --all

# One after another, while Go compiles servers beside them. What verify runs of the tests comes with all of them.
checked:
	@MAKEFLAGS= $(MAKE) --no-print-directory setup test-tools check

unit: node launcher ## Tests that start no server, a minute, or some of them: make unit FILES='test/unit/catalog/names.test.ts'
	@vitest run $(or $(FILES),test/unit test/architecture.test.ts)

integration: setup test-tools servers ## The others, or some of them: make integration FILES='test/integration/api/http.test.ts'
	@vitest run --maxWorkers=2 $(or $(FILES),test/integration test/conformance test/cluster)

proved: setup test-tools ## Proves every conversion that is offered, and writes down which, and with which versions of the engines; PROVE_AT=http://host:8080 RELEASE=trixie: by a service on another Debian
	@PAIRS=all vitest run test/formats --reporter=default --reporter=json --outputFile.json=.cache/proved-report.json && node scripts/proved.ts

bench: setup test-tools servers ## Measures beside the raw tools, in one run; PART=cluster and the like measure one part
	@node bench/run.ts $(PART)

clean: ## Removes what was built (not the data folder)
	rm -rf .cache node_modules
