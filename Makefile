# The front door. `make demo` and `make test` install what is missing, build and run.
PREFIX ?= /usr/local
DESTDIR ?=
BUILD := build/release
.PHONY: help demo test build install bench bench-methods bench-ivae clean setup setup-test

help: ## what can be made
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | column -t -s "$$(printf '\t')"

setup: ## install the packages that building needs (Debian, as root), or name them
	@sh tools/setup.sh build

setup-test: ## install the packages that the tests need, or name them
	@sh tools/setup.sh test

build: setup ## build the release preset in build/release
	@test -f $(BUILD)/build.ninja || cmake --preset release -Wno-dev > build-configure.log 2>&1 || { cat build-configure.log; rm -f build-configure.log; exit 1; }
	@rm -f build-configure.log
	@cmake --build $(BUILD)

demo: build ## simulate, fit, and write a report
	@sh tools/demo.sh

test: setup-test build ## build and run all tests
	@cd $(BUILD) && ctest --output-on-failure -j 2

install: build ## put program, library, headers, man pages and completions under PREFIX
	@cmake --install $(BUILD) --prefix $(DESTDIR)$(PREFIX)

bench-methods: build ## MCS and seconds of every method on the shared data sets
	@bash bench/bench_methods.sh $(BUILD)

bench-ivae: build ## the linear iVAE beside torch, per evaluation
	@bash bench/bench_ivae.sh $(BUILD)

clean: ## remove what was built
	rm -rf build
