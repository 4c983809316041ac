# The front door. `make demo` and `make test` install what is missing, build and run.
PREFIX ?= /usr/local
DESTDIR ?=
SECONDS ?= 60
JOBS ?= 2
BUILD := build/release
.PHONY: quick lint abi abi-record check-aarch64 kernels mutants strict docs help demo test asan faults fuzz tsan kill-test slurm-test valgrind coverage build install bench bench-methods bench-ivae clean setup setup-test

help: ## what can be made
	@grep -hE '^[a-z%-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z%-]+):.*## /\1\t/' | column -t -s "$$(printf '\t')"

setup: ## install the packages that building needs (Debian, as root), or name them
	@sh tools/setup.sh build

setup-test: ## install the packages that the tests need, or name them
	@sh tools/setup.sh test

build: ## build the release preset in build/release; installs nothing
	@echo "Building in $(BUILD)"
	@mkdir -p $(BUILD)
	@cmake --preset release -Wno-dev > $(BUILD)/configure.log 2>&1 || { cat $(BUILD)/configure.log; echo "What is missing on Debian: sh tools/setup.sh build"; exit 1; }
	@cmake --build $(BUILD) > $(BUILD)/build.log 2>&1 || { cat $(BUILD)/build.log; exit 1; }
	@grep -A6 -E 'warning:' $(BUILD)/build.log || true

strict: ## build everything with gcc and with clang; a warning fails
	@for cc in gcc clang; do echo "Building in build/strict-$$cc"; \
	  cmake --preset release -B build/strict-$$cc -DCMAKE_C_COMPILER=$$cc -DBLICA_WERROR=ON -Wno-dev > /dev/null && \
	  cmake --build build/strict-$$cc || exit 1; done

tidy: build ## clang-tidy over the C files of library, program and report, without findings (.clang-tidy; some 10 minutes)
	@sh tools/setup.sh tidy
	@ls src/*/*.c src/*/*/*.c cli/*.c report/*.c experiments/*.c | xargs -P $(JOBS) -n 4 clang-tidy -p $(BUILD) --quiet 2> $(BUILD)/tidy.log
	@echo "clang-tidy: no findings"

demo: setup build ## simulate, fit, and write a report
	@sh tools/demo.sh

test: setup-test build ## build and run all tests
	@echo "Running all tests"
	@cd $(BUILD) && ctest --output-on-failure --no-tests=error -j $(JOBS)

quick: build ## build and run the tests that a change of any kind meets: rules of the house, interface, identities (2 minutes)
	@cd $(BUILD) && ctest --output-on-failure --no-tests=error -j $(JOBS) -R 'cli/(layers|header|hosted)|unit/test_interface|identity/'

lint: setup-test ## yamllint, mypy, and, where they are installed, lintian and R CMD check --as-cran (15 minutes)
	@sh tools/lint.sh

ABI := --drop-private-types --headers-dir
abi: build ## compare the binary interface with that of the last release (abidiff; 2 minutes); removals and changes fail
	@abidiff --no-added-syms $(ABI)2 include cmake/libblica.abi $(BUILD)/libblica.so && echo "nothing that programs use has changed"

abi-record: build ## write the binary interface of this release to cmake/libblica.abi
	@abidw $(ABI) include --no-show-locs --no-corpus-path --no-comp-dir-path --out-file cmake/libblica.abi $(BUILD)/libblica.so

bench: build ## speed and accuracy of this build, on one core: counting, correlations, the fit, accuracy over many data sets
	@cmake --build $(BUILD) --target benches > $(BUILD)/build.log 2>&1 || { cat $(BUILD)/build.log; exit 1; }
	@for b in count table correlate fit; do echo; echo "== bench_$$b"; OPENBLAS_NUM_THREADS=1 $(BUILD)/bench_$$b; done
	@echo; echo "== bench_accuracy"; OPENBLAS_NUM_THREADS=1 $(BUILD)/bench_accuracy 30 blica:condition=10 matched

asan: setup-test ## build with address and undefined-behaviour sanitizers and run the C and program tests
	@cmake --preset asan -Wno-dev > /dev/null && cmake --build build/asan > /dev/null
	@cd build/asan && OPENBLAS_NUM_THREADS=1 LSAN_OPTIONS=suppressions=$(CURDIR)/tools/lsan.supp:print_suppressions=0 ctest --output-on-failure --no-tests=error -j $(JOBS) -E 'parity|python|^r/|recovery|stress|install|browser|unload|cli/(mpi|checkpoint|weights|header)'
	@cd build/asan && OPENBLAS_NUM_THREADS=1 ASAN_OPTIONS=detect_leaks=0 ctest --output-on-failure --no-tests=error -R 'cli/(mpi|checkpoint|weights)' # Open MPI leaks memory of its own

tsan: setup-test ## build with the thread sanitizer and run the C and program tests
	@cmake --preset tsan -Wno-dev > /dev/null && cmake --build build/tsan > /dev/null
	@cd build/tsan && OPENBLAS_NUM_THREADS=1 BLICA_PATIENCE=1200 TSAN_OPTIONS=halt_on_error=1:die_after_fork=0:suppressions=$(CURDIR)/tools/tsan.supp ctest --output-on-failure --no-tests=error -j $(JOBS) -E 'parity|python|^r/|recovery|stress|install|browser|unload|experiment'

kill-test: setup-test build ## kill fits 50 times each by job, rank and full disk, resume them, compare all bits (some 10 minutes)
	@bash tools/kill_test.sh 50

slurm-test: build ## run the Slurm script under a real Slurm of four nodes on this host, cancel it, submit it again, compare all bits
	@bash tools/slurm_test.sh

valgrind: setup-test build ## run the C tests and every command under valgrind's memcheck
	@bash tools/valgrind.sh $(BUILD)

coverage: setup-test ## run the tests with counters: lines and branches of src/ that they reach (bench/results/coverage.md); fails below 90 % of lines
	@cmake --preset coverage -Wno-dev > /dev/null && cmake --build build/coverage > /dev/null
	@find build/coverage -name '*.gcda' -delete
	@cd build/coverage && OPENBLAS_NUM_THREADS=1 ctest --output-on-failure --no-tests=error -j $(JOBS) -E 'parity|python|^r/|install|browser|test_recovery|faults/calls' # gcov itself crashes when memory is out
	@/usr/bin/python3 tools/coverage.py build/coverage --lines --at-least 90 --table bench/results/coverage.md

fuzz: ## run each fuzz target for SECONDS=60, two at a time (Clang with libFuzzer); TARGETS="csv model" for some of them
	@sh tools/setup.sh fuzz
	@cmake --preset fuzz -Wno-dev > /dev/null && cmake --build build/fuzz > /dev/null
	@JOBS=$(JOBS) bash tools/fuzz.sh $(SECONDS) $(TARGETS)

torture: build ## every method on data that no one planned for, a minute for each fit; claims of convergence recomputed
	@mkdir -p $(BUILD)/real && Rscript --vanilla tools/real_data.R $(BUILD)/real || echo "SKIPPED: real data, there is no R"
	@BLICA_TORTURE=all BLICA_TORTURE_DATA=$(BUILD)/real OPENBLAS_NUM_THREADS=1 $(BUILD)/test_torture

kernels: setup-test ## all tests with every kind of BLAS kernels and SIMD level that this machine can run (an hour or two); TESTS="-R parity" for some
	@bash tools/kernels.sh $(TESTS)

mutants: setup-test ## small bugs put in one at a time: at least 95 % must make their tests fail (some 20 minutes); ONLY=regex: some of them
	@/usr/bin/python3 tools/mutants.py $(if $(ONLY),--only '$(ONLY)',--write docs/trust.md)

accuracy: build ## the worst error of every special function and where it is: the table of docs/accuracy.md
	@$(BUILD)/test_accuracy | grep '^|'

faults: setup-test build ## every call of every command fails once, signals at random moments, 10 000 fits in one process
	@echo "== allocations of the library, one after the other"; $(BUILD)/test_faults_memory | grep -E 'allocations in|PASSED|FAILED'
	@echo "== the same inside checkpoints"; BLICA_FAULTS=all OPENBLAS_NUM_THREADS=1 $(BUILD)/test_faults_checkpoint | grep -E 'begun|PASSED|FAILED'
	@echo "== the same on one of two ranks"; BLICA_FAULTS=all OPENBLAS_NUM_THREADS=1 $(BUILD)/test_faults_ranks | grep -E 'allocations in|PASSED|FAILED'
	@echo "== calls of the program"; /usr/bin/python3 tests/faults/run.py --jobs $(JOBS) --blica $(BUILD)/blica --shim $(BUILD)/libfaults_shim.so
	@echo "== the same, a sample, with the address sanitizer"; cmake --preset asan -Wno-dev > /dev/null && cmake --build build/asan --target blica_cli faults_shim > /dev/null
	@/usr/bin/python3 tests/faults/run.py --jobs $(JOBS) --blica build/asan/blica --shim build/asan/libfaults_shim.so --most 6 --most-memory 25
	@echo "== signals"; /usr/bin/python3 tests/faults/signals.py --blica $(BUILD)/blica
	@echo "== fits in one process"; BLICA_FITS=10000 OMP_WAIT_POLICY=passive $(BUILD)/test_leaks | grep -E 'fits|PASSED|FAILED'

check-install-%: ## install away from the checkout and try it there: check-install-cmake, -sdist, -wheel, -r, -debian (docs/install.md)
	@bash tools/check_install.sh $*

check-fresh-%: ## the same in fresh Debian root folders made by debootstrap, as root: check-fresh-cmake, -sdist, -wheel, -r, -debian
	@bash tools/check_fresh.sh $*

check-aarch64: ## build the library for aarch64, without vector instructions of its own, and run the unit tests under qemu
	@sh tools/setup.sh aarch64
	@JOBS=$(JOBS) sh tools/check_aarch64.sh

check-cross-%: ## build the library for another system and run the unit tests there: check-cross-mingw (Windows, by wine), -i386, -s390x (big endian), -musl
	@sh tools/setup.sh $*
	@JOBS=$(JOBS) sh tools/check_cross.sh $*

install: build ## put program, stripped library, headers, man pages, completions, example and C reference under PREFIX
	@cmake --install $(BUILD) --prefix $(DESTDIR)$(PREFIX) --strip

bench-methods: build ## MCS and seconds of every method on the shared data sets
	@bash bench/bench_methods.sh $(BUILD)

bench-ivae: build ## the linear iVAE beside torch, per evaluation
	@bash bench/bench_ivae.sh $(BUILD)

report-picture: setup-test build ## draw docs/report.png, the first screen of a report on real data
	@bash tools/report_picture.sh $(CURDIR)/$(BUILD)/blica

docs: setup-test ## build the documentation site in build/site/html
	@/usr/bin/python3 tools/site.py . build/site
	@echo "The site: $(CURDIR)/build/site/html/index.html"

clean: ## remove what was built
	rm -rf build
