# make demo and make test do all the set-up themselves; make help lists the rest.

ifdef CI
# Kept between CI's runs where the machine is kept; nothing depends on it.
export CARGO_TARGET_DIR ?= $(HOME)/.cache/corewise-target
# The data of incremental builds speeds up the next build of a crate, and slows down its first.
export CARGO_INCREMENTAL ?= 0
endif
TARGET := $(or $(CARGO_TARGET_DIR),target)
COREWISE = $(TARGET)/$(if $(GUIDED),guided,release)/corewise
# The demo and the tests have one profile, cargo's dev: what one of them compiled, the other does not compile again.
DEBUG = $(abspath $(TARGET))/debug/corewise
VENV = $(abspath $(TARGET))/venv/bin/python3
PREFIX ?= /usr/local
FUZZ_SECONDS ?= 20
SOAK ?= 100
CARGO := cargo

# What is installed and measured is built twice, which takes twice as long; GUIDED= for the plain build.
install package bench accept: GUIDED := 1

# In the order in which they are written, each to its end: two cores, and one cargo at a time.
.NOTPARALLEL:
.PHONY: help demo build install package package-test wheels corpus test quick lint check unit live viewer viewer-test scripts venv python guests doc fuzz-build fuzz soak bench accept setup-build setup-test setup-package setup-guest setup-wheels

help: ## this list
	@sed -n 's/^\([a-z-]*\):[^#]*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 14

demo: setup-build viewer ## set up, build with the profile of the tests, record a lively workload on this machine, print the report
	$(CARGO) build --locked --package corewise
	$(DEBUG) demo

build: setup-build viewer ## the release build: target/release/corewise
	$(if $(GUIDED),scripts/guided,$(CARGO) build --release --locked --package corewise --features stores)

install: build ## the release build, guided by a profile of its own work, into $(PREFIX)/bin
	install -D -m 755 $(COREWISE) $(DESTDIR)$(PREFIX)/bin/corewise

package: build ## a tarball and a Debian package of the release build, in target/package
	scripts/package $(COREWISE) target/package

package-test: setup-package ## install, use and remove that Debian package in a clean Debian (debootstrap, root)
	scripts/package-test target/package/*.deb

wheels: setup-build setup-wheels viewer venv ## the wheels of the Python package for x86_64 and aarch64, with the program inside, in dist/, installed and tried
	scripts/wheels $(VENV) $(TARGET) dist
	scripts/wheels-test dist $(TARGET)

corpus: ## fetch the large recordings of other projects that some tests read, into corpus/
	scripts/corpus

# What measures the machine comes last: nothing else of make test runs meanwhile.
test: setup-test viewer lint venv unit check viewer-test scripts python guests doc fuzz-build live ## everything that must pass before a change lands

quick: setup-build ## formatting, clippy and tests of one crate and of those that use it: make quick CRATE=report
	$(CARGO) xtask quick $(or $(CRATE),$(error which crate? for example: make quick CRATE=report))

lint: setup-build ## formatting, and clippy's warnings as errors
	$(CARGO) fmt --all --check
	$(CARGO) clippy --locked --workspace --features corewise/stores --all-targets -- -D warnings

venv: ## the virtual environment of the tests in Python and of SQL, in target/venv
	scripts/venv $(TARGET)/venv >/dev/null

unit: setup-build ## the tests that decide by what they are given, those too whose needs of tools and files this machine meets
	if [ -x $(VENV) ]; then export COREWISE_DUCKDB=$(VENV); fi; $(CARGO) xtask test still

live: setup-build ## the tests that measure this machine, one at a time
	if [ -x $(VENV) ]; then export COREWISE_DUCKDB=$(VENV); fi; $(CARGO) xtask test live

check: setup-build ## layers, sizes, dependencies, features, test programs, licences, recipes (cargo xtask check)
	$(CARGO) build --locked --package corewise --features stores
	$(CARGO) xtask check

viewer: ## the pages of corewise view, where Node.js is; the binary takes them in
	scripts/viewer build

viewer-test: check ## the viewer's types and units, and its pages in a browser
	scripts/viewer test $(DEBUG)

scripts: ## the tests of the Python scripts
	acceptance/units

python: venv check ## the Python package, installed in that environment, and each table by three ways
	if [ -x $(VENV) ]; then scripts/python $(VENV) $(DEBUG) $(abspath $(TARGET)); fi

guests: check ## a cross-built corewise in an emulated machine with two kinds of PMU, where scripts/setup guest has been run
	COREWISE=$(DEBUG) python3 acceptance/guests_pmu.py --small

doc: setup-build ## the API documentation, its warnings as errors
	RUSTDOCFLAGS='-D warnings' $(CARGO) doc --locked --workspace --features corewise/stores --no-deps --quiet

fuzz-build: ## the fuzz targets, built only
	scripts/fuzz build

fuzz: setup-test ## the fuzz targets, each for FUZZ_SECONDS (20), and what they cover
	scripts/fuzz run $(FUZZ_SECONDS)
	scripts/fuzz report

soak: setup-build ## the laws on SOAK (100) times as many traces as in make test, each drawn anew
	COREWISE_SOAK=$(SOAK) $(CARGO) test --locked --workspace --features corewise/stores --lib
	COREWISE_SOAK=$(SOAK) $(CARGO) test --locked --workspace --features corewise/stores --test it -- laws:: order:: hostile:: described::

bench: build setup-test ## import and report side by side with perf and trace-cmd
	COREWISE=$(COREWISE) python3 benches/import.py

accept: build setup-test setup-guest python ## the measurements of acceptance/README.md; takes a while, wants root
	COREWISE=$(COREWISE) VENV=$(VENV) acceptance/run

setup-build:
	@scripts/setup build

setup-test:
	@scripts/setup build test

setup-guest:
	@scripts/setup guest

setup-wheels:
	@scripts/setup guest wheels

setup-package:
	@scripts/setup package
