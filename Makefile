# Makefile of fastclust. Main targets: all, install, test, demo; README.md describes them.

EXTENSION  = fastclust
MODULE_big = fastclust

# Directory of the sources: this one, or VPATH in a build out of tree
# (mkdir b; make -C b -f ../Makefile VPATH=..).
ROOT       := $(if $(VPATH),$(VPATH)/)
EXTVERSION := $(shell sed -n "s/^default_version *= *'\([^']*\)'.*/\1/p" $(ROOT)fastclust.control)

# Print one line for each file; V=1 prints the commands, and -s prints neither.
SILENT := $(findstring s,$(firstword -$(MAKEFLAGS)))
ifeq ($(V),)
MAKEFLAGS += --silent
say = $(if $(SILENT),,@echo "  $(1)")
else
say =
endif

PG_CONFIG ?= pg_config
PGXS      := $(shell $(PG_CONFIG) --pgxs 2>/dev/null)

# OpenBLAS and L-BFGS-B are opened when first needed, and building needs neither. OpenBLAS is
# searched for in this directory first.
MACHINE      := $(shell $(CC) -dumpmachine 2>/dev/null)
MULTIARCH    := $(shell echo '$(MACHINE)' | sed 's/-[a-z]*-linux/-linux/')
OPENBLAS_DIR ?= /usr/lib/$(MULTIARCH)/openblas-serial

# Sums are 128-bit integers, which compilers for 32-bit machines do not have.
ifeq ($(shell echo __SIZEOF_INT128__ | $(CC) -E -P - 2>/dev/null),__SIZEOF_INT128__)
$(error fastclust needs a 64-bit machine: $(CC) for $(MACHINE) has no integer of 128 bits)
endif

# The core has strict flags of its own, independent of the flags of the server. Sums must not depend
# on the compiler, so only the inner loops (*_simd.c) allow contraction to fused multiply-add.
# Vectors wider than the machine's registers are passed only between inline functions, so warnings
# about their ABI are off. The compiler writes the headers that each object depends on into a .d
# file.
DEPENDENCIES  = -MMD -MP
OPTFLAGS     ?=
CORE_WARN     = -Wall -Wextra -Wconversion -Wshadow -Wno-psabi $(if $(WERROR),-Werror)
CORE_CFLAGS   = -std=gnu11 -O3 -g -ffp-contract=off -fPIC -fvisibility=hidden $(CORE_WARN) $(ASSERTIONS) $(OPTFLAGS)
CORE_CPPFLAGS = -I$(ROOT)src/core $(DEPENDENCIES)
SIMD_FLAGS    = -ffp-contract=fast

# Assertions of the core are enabled if the server has assertions, and in all tests without a
# server.
ASSERTIONS := $(if $(shell grep -s 'define USE_ASSERT_CHECKING 1' "$$($(PG_CONFIG) --includedir-server 2>/dev/null)/pg_config.h"),-DFC_ASSERTIONS)

# The inner loops of sketching are built once for each instruction set; one build is selected at run
# time.
ISA_base = -DFC_ISA=0
ISA_v3   = -DFC_ISA=3 -march=x86-64-v3
ISA_v4   = -DFC_ISA=4 -march=x86-64-v4 -mprefer-vector-width=512
ISAS    := base $(if $(filter x86_64-%,$(MACHINE)),v3 v4)

# Object names include their room, because files of two rooms may have the same name.
sources       = $(patsubst $(ROOT)%,%,$(sort $(wildcard $(ROOT)$(1))))
CORE_SOURCES := $(call sources,src/core/*/*.c)
ISA_SOURCE    = sketch/isa_build
CORE_NAMES   := $(filter-out $(ISA_SOURCE),$(CORE_SOURCES:src/core/%.c=%)) $(ISAS:%=$(ISA_SOURCE).%)
CORE_OBJS    := $(CORE_NAMES:%=src/core/%.o)
GLUE_OBJS    := $(patsubst %.c,%.o,$(call sources,src/pg/*/*.c))
OBJS          = $(CORE_OBJS) $(GLUE_OBJS)

DATA_built  = fastclust--$(EXTVERSION).sql
DATA        = $(call sources,src/sql/upgrade/*.sql)
EXTRA_CLEAN = build results regression.diffs regression.out tmp_check \
	$(wildcard src/core/*/*.[od] src/pg/*/*.[od] fastclust--*.sql)
# every file starts in a database that has the extension on its search_path
REGRESS_OPTS = --load-extension=fastclust --launcher=$(abspath $(ROOT)test/psql.sh)
REGRESS     = $(filter-out $(LEFT_OUT),$(patsubst sql/%.sql,%,$(call sources,sql/*.sql)))

PG_CPPFLAGS = -I$(ROOT)src/core -I$(ROOT)src $(DEPENDENCIES) -DFC_OPENBLAS_DIR='"$(OPENBLAS_DIR)"'
# Headers of servers before 16 declare functions without the types of their arguments. C23, the
# default of gcc since 15, reads such a declaration as one of a function without arguments.
PG_CFLAGS   = -std=gnu11 -Wall -Wextra -Wno-unused-parameter -Wno-sign-compare -Wno-missing-field-initializers \
	$(CLANG_WARN) $(if $(WERROR),-Werror) $(OPTFLAGS)
# Servers built with gcc pass its flags to every compiler, and their headers use its attributes.
CLANG_WARN  = $(if $(findstring clang,$(shell $(CC) --version)),-Wno-unknown-warning-option -Wno-ignored-optimization-argument \
	-Wno-ignored-attributes)
SHLIB_LINK  = -ldl -lm

# Only the SQL entry points are exported, so that the module's stand-ins for BLAS and its core never
# conflict with another module's. Servers before 16 do not mark entry points, so a version script is
# used instead of -fvisibility.
ifeq ($(shell uname -s),Linux)
SHLIB_LINK += -Wl,--version-script=$(ROOT)src/pg/exports.map
endif

.DEFAULT_GOAL := all

# PGXS has its own target named check.
ifneq ($(if $(filter check,$(MAKECMDGOALS)),,$(PGXS)),)
override with_llvm = no
include $(PGXS)
else ifeq ($(filter unit core-types arm build/arm/% build/unit/% build/plain/% plain valgrind purity census fuzz sanitized mutators soak installations test check lint indent docs docs-serve demo clean dist setup deb package-test matrix,$(MAKECMDGOALS)),)
$(error $(PG_CONFIG) does not answer: install the server's development package, or set PG_CONFIG; "make test" installs all it needs)
endif

$(OBJS): Makefile
ifneq ($(ROOT),)
# make would use objects in the source directory, which another server or compiler may have made.
ifneq ($(wildcard $(ROOT)src/core/base/arena.o $(ROOT)$(MODULE_big)$(DLSUFFIX)),)
$(error $(VPATH) holds a build: run "make clean" there first)
endif
$(shell mkdir -p $(sort $(dir $(OBJS))))
endif
$(MODULE_big)$(DLSUFFIX): src/pg/exports.map

src/core/%.o: src/core/%.c
	$(call say,CC $@)
	$(CC) $(CORE_CFLAGS) $(if $(filter %_simd,$*),$(SIMD_FLAGS)) $(CORE_CPPFLAGS) -c -o $@ $<

define isa_rule
src/core/$(ISA_SOURCE).$(1).o: src/core/$(ISA_SOURCE).c
	$$(call say,CC $$@)
	$$(CC) $$(CORE_CFLAGS) $$(SIMD_FLAGS) $$(ISA_$(1)) $$(CORE_CPPFLAGS) -c -o $$@ $$<
endef
$(foreach isa,$(ISAS),$(eval $(call isa_rule,$(isa))))

src/pg/%.o: src/pg/%.c
	$(call say,CC $@)
	$(CC) $(CFLAGS) $(CPPFLAGS) -c -o $@ $<

-include $(OBJS:.o=.d)

SQL_SOURCES := $(shell sed -n 's,^[a-z].*,src/sql/&.sql,p' $(ROOT)src/sql/ORDER)

fastclust--$(EXTVERSION).sql: $(SQL_SOURCES) src/sql/ORDER fastclust.control Makefile
	cat $(filter %.sql,$^) > $@

# Tests without a server compile the same sources with other flags into build/<kind>.
TESTED_NAMES := $(CORE_NAMES:%=core/%) blas/blas_stubs blas/blas_library blas/blas_failure
UNITS      := $(patsubst test/unit/%.c,%,$(sort $(wildcard test/unit/test_*.c)))
FUZZERS    := $(patsubst test/fuzz/%.c,%,$(sort $(wildcard test/fuzz/fuzz_*.c)))
FUZZ_SECONDS ?= 20
VALGRIND_UNITS ?= $(UNITS)
CLANG      ?= clang
CHECK_LIBS  = -ldl -lm
SANITIZE    = -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer

# Inner loops are tested as they are shipped: vectorised (the last -O wins).
KIND_SIMD   = -O3 $(SIMD_FLAGS)

KIND_CFLAGS = -std=gnu11 -O1 -g -ffp-contract=off -Wno-psabi -DFC_ASSERTIONS

kind_cc_unit        = $(CC) $(KIND_CFLAGS) $(SANITIZE) -fPIC -fvisibility=hidden
kind_cc_plain       = $(CC) $(KIND_CFLAGS)
kind_cc_cov         = $(CC) $(KIND_CFLAGS) --coverage -fPIC -fvisibility=hidden
kind_cc_arm         = $(CC) $(KIND_CFLAGS) -O3
kind_cc_fuzz        = $(CLANG) $(KIND_CFLAGS) -fsanitize=fuzzer-no-link $(SANITIZE)

# Rules for the core objects of kind $(1).
define kind_rules
build/$(1)/core/%.o: src/core/%.c Makefile
	@mkdir -p $$(@D)
	$$(call say,CC $$@)
	$$(kind_cc_$(1)) $$(if $$(filter %_simd,$$*),$$(KIND_SIMD)) $$(CORE_CPPFLAGS) -c -o $$@ $$<
$(foreach isa,$(ISAS),
build/$(1)/core/$(ISA_SOURCE).$(isa).o: src/core/$(ISA_SOURCE).c Makefile
	@mkdir -p $$(@D)
	$$(call say,CC $$@)
	$$(kind_cc_$(1)) $$(KIND_SIMD) $$(ISA_$(isa)) $$(CORE_CPPFLAGS) -c -o $$@ $$<
)
build/$(1)/blas/%.o: src/pg/base/%.c Makefile
	@mkdir -p $$(@D)
	$$(call say,CC $$@)
	$$(kind_cc_$(1)) $$(CORE_WARN) $$(PG_CPPFLAGS) -c -o $$@ $$<

build/$(1)/blas/%.o: test/unit/%.c Makefile
	@mkdir -p $$(@D)
	$$(call say,CC $$@)
	$$(kind_cc_$(1)) $$(CORE_WARN) $$(PG_CPPFLAGS) -c -o $$@ $$<

build/$(1)/test_%: test/unit/test_%.c $$(wildcard test/unit/*.h) $$(TESTED_NAMES:%=build/$(1)/%.o)
	@mkdir -p $$(@D)
	$$(call say,CC $$@)
	$$(kind_cc_$(1)) $$(CORE_WARN) $$(CORE_CPPFLAGS) -Itest/unit -o $$@ $$< $$(filter %.o,$$^) $$(CHECK_LIBS)
endef
$(foreach kind,unit plain fuzz cov arm,$(eval $(call kind_rules,$(kind))))

# Mutators of the byte readers as filters, for values that pass through a server.
build/unit/mutate_%: test/fuzz/fuzz_%.c $(wildcard test/fuzz/*.h) $(TESTED_NAMES:%=build/unit/%.o)
	@mkdir -p $(@D)
	$(call say,CC $@)
	$(kind_cc_unit) -DFUZZ_MUTATE $(CORE_WARN) $(CORE_CPPFLAGS) -o $@ $< $(filter %.o,$^) $(CHECK_LIBS)

mutators: $(FUZZERS:fuzz_%=build/unit/mutate_%)

build/fuzz/fuzz_%: test/fuzz/fuzz_%.c $(wildcard test/fuzz/*.h) $(TESTED_NAMES:%=build/fuzz/%.o)
	@mkdir -p $(@D)
	$(call say,CC $@)
	$(kind_cc_fuzz) -fsanitize=fuzzer $(CORE_WARN) $(CORE_CPPFLAGS) -o $@ $< $(filter %.o,$^) $(CHECK_LIBS)

# Rules for a module of kind $(1) with flags $(2), for the server of PG_CONFIG, from core objects of
# kind $(3).
define module_rules
build/$(1)/pg/%.o: src/pg/%.c Makefile
	@mkdir -p $$(@D)
	$$(call say,CC $$@)
	$$(CC) $$(CFLAGS) $(2) -fPIC $$(CPPFLAGS) -c -o $$@ $$<

build/$(1)/$(MODULE_big).so: $$(CORE_NAMES:%=build/$(3)/core/%.o) $$(GLUE_OBJS:src/pg/%=build/$(1)/pg/%) src/pg/exports.map
	$$(call say,LD $$@)
	$$(CC) -shared $(2) -o $$@ $$(filter %.o,$$^) $$(SHLIB_LINK)
endef

# Module that tools/sanitized.sh installs into a server of its own. -fno-wrapv: signed overflow is
# an error.
$(eval $(call module_rules,sanitized,-fno-wrapv $(SANITIZE),unit))
$(eval $(call module_rules,cov,-O1 --coverage,cov))

sanitized:
	@tools/sanitized.sh build

# cov: report the lines that the tests reach. COV_TESTS: the TAP tests to run.
COV_TESTS ?= $(sort $(wildcard test/t/*.pl))

cov: $(UNITS:%=build/cov/%) build/cov/$(MODULE_big).so all
	PG_CONFIG="$(PG_CONFIG)" COV_TESTS="$(COV_TESTS)" tools/cov.sh build/cov $(UNITS:%=build/cov/%)

.SECONDARY:

-include $(wildcard build/*/core/*/*.d build/*/blas/*.d build/*/pg/*/*.d build/*/*.d)

# Benchmark programs are compiled by the unit tests, so that changes of the core cannot break them.
BENCHES := $(patsubst bench/%.c,%,$(sort $(wildcard bench/*.c)))

build/unit/bench_%: bench/%.c $(wildcard bench/*.h) $(TESTED_NAMES:%=build/unit/%.o)
	@mkdir -p $(@D)
	$(call say,CC $@)
	$(kind_cc_unit) $(CORE_CPPFLAGS) -o $@ $< $(filter %.o,$^) $(CHECK_LIBS)

unit: $(UNITS:%=build/unit/%) $(BENCHES:%=build/unit/bench_%)
	@tools/run-checks.sh unit $(UNITS:%=build/unit/%)

# core-types: run the unit tests with several kernels of OpenBLAS, because no result may depend on
# the kernel that a processor gets.
CORE_TYPES ?= Haswell Zen Sandybridge Nehalem
CORE_TYPE_UNITS ?= $(UNITS)

core-types: $(CORE_TYPE_UNITS:%=build/unit/%)
	@status=0; for type in $(CORE_TYPES); do OPENBLAS_CORETYPE=$$type tools/run-checks.sh unit $^ || status=1; done; exit $$status

# arm: run the unit tests on ARM with Debian's cross compiler and qemu. Tests that need OpenBLAS are
# skipped if ARM_ROOT has none (tools/arm-root.sh makes a root with it). test_blas is left out
# because it starts programs, which qemu-user does not emulate.
ARM_CC   ?= aarch64-linux-gnu-gcc
ARM_ROOT ?= $(firstword $(patsubst %/complete,%,$(wildcard /var/tmp/fastclust-arm64/complete)) /usr/aarch64-linux-gnu)

# Number of tests that run together: one after another they take half an hour of a processor.
ARM_JOBS  ?= $(shell nproc 2>/dev/null || echo 1)

# ARM processor without dot products of bytes.
ARM_OLD   ?= cortex-a57
ARM_UNITS ?= $(filter-out test_blas,$(UNITS))

arm:
	@tools/setup.sh arm
	@$(MAKE) -s -k CC=$(ARM_CC) $(ARM_UNITS:%=build/arm/%)
	@printf '%s\n' $(ARM_UNITS:%=build/arm/%) | QEMU_LD_PREFIX=$(ARM_ROOT) xargs -P $(ARM_JOBS) -n 1 tools/run-checks.sh arm
	@$(if $(filter test_pruning,$(ARM_UNITS)),QEMU_CPU=$(ARM_OLD) QEMU_LD_PREFIX=$(ARM_ROOT) tools/run-checks.sh arm build/arm/test_pruning)

# plain: run the unit tests without sanitizers, in a third of the time of `make unit`.
plain: $(UNITS:%=build/plain/%)
	@tools/run-checks.sh plain $^

valgrind: $(VALGRIND_UNITS:%=build/plain/%)
	@tools/run-checks.sh valgrind $^

purity: $(if $(PGXS),$(OBJS),$(CORE_NAMES:%=build/plain/core/%.o))
	@test/purity.pl $^

# indent: format the C files of src as PostgreSQL's pgindent does; INDENT=--check only checks.
indent:
	@tools/indent.pl $(INDENT)

# lint: run cppcheck and clang-tidy if they are installed.
lint:
	@tools/lint.sh "$$($(PG_CONFIG) --includedir-server)"

# census: print figures of the sources and check them against the limits in test/census.
census:
	@test/census.pl

FUZZ_TRIAL = echo 'int LLVMFuzzerTestOneInput(void) { return 0; }' | \
	$(CLANG) -x c - -fsanitize=fuzzer $(SANITIZE) -o /dev/null 2>/dev/null && echo yes
ifeq ($(if $(filter fuzz,$(MAKECMDGOALS)),$(shell $(FUZZ_TRIAL))),)
fuzz:
	@echo "skip fuzz: $(CLANG) with its fuzzer library is not installed"
else
fuzz: $(FUZZERS:%=build/fuzz/%)
	@FUZZ_SECONDS=$(FUZZ_SECONDS) tools/run-checks.sh fuzz $^
endif

# Tests with a server use a private one on a unix socket, which is removed afterwards.
PROVE_TESTS ?= $(sort $(wildcard test/t/*.pl))

installcheck: export PGOPTIONS = -c search_path=public,fastclust,fastclust_internal -c client_min_messages=warning
regress:
	@MAKE="$(MAKE) -f $(firstword $(MAKEFILE_LIST))" PG_CONFIG="$(PG_CONFIG)" $(ROOT)tools/regress.sh $(REGRESS)

prove:
	PG_CONFIG="$(PG_CONFIG)" prove -Itest/t $(PROVE_FLAGS) $(PROVE_TESTS)

installations:
	test/installations.sh $(INSTALLATIONS)

bench: all
	PG_CONFIG="$(PG_CONFIG)" bench/run.sh

# matrix: test all servers in SERVERS and Debian's, with gcc and clang (tools/matrix.sh).
SERVERS ?= /var/cache/fastclust

matrix:
	@tools/matrix.sh $(SERVERS)

setup:
	@tools/setup.sh

# soak: run tests that take too long for every day; SOAK names pieces (tools/soak.sh).
SOAK ?=

soak:
	@tools/soak.sh $(SOAK)

test:
	@tools/test.sh

# check: run single tests, such as TEST=sql/drift, test/t/104_report or test/unit/test_kmeans, with
# or without the file extension.
TEST ?=

ifneq ($(filter check,$(MAKECMDGOALS)),)
check:
	@tools/check.sh $(TEST)
endif

# docs: build the site of docs/ in build/site with Debian's mkdocs and mkdocs-material.
docs:
	@tools/docs.sh build

docs-serve:
	@tools/docs.sh serve

# docs-outputs: run the pages and write psql's output below each block of SQL.
# PAGES="first-model customers" selects pages.
docs-outputs: all
	@tools/install.sh >/dev/null
	@tools/with-server.sh perl -Itest/t -MPages -e 'Pages::write_outputs("psql", @ARGV)' $(PAGES)

demo:
	@demo/demo.sh

# freeze: at a release, keep its script, functions and a dump for the upgrade tests.
freeze:
	@tools/freeze.sh

# dist: make and check a zip of the committed files for PGXN.
dist:
	@tools/dist.sh

# deb: make Debian packages in build/deb.
deb:
	@tools/deb.sh

# package-test: install the packages by apt in a minimal Debian of each suite.
# SUITES="bookworm trixie" selects suites.
package-test:
	@test/packages.sh $(SUITES)

ifeq ($(PGXS),)
clean:
	rm -rf $(EXTRA_CLEAN)
endif

.PHONY: all unit plain core-types arm cov valgrind purity lint indent census fuzz mutators sanitized regress prove installations bench setup soak test check docs docs-serve docs-outputs demo freeze dist deb package-test matrix clean
