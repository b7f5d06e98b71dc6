# fastclust: make, make install, make test, make demo.  See README.md.

EXTENSION  = fastclust
MODULE_big = fastclust

# Where the sources lie: here, or where VPATH says (mkdir b; make -C b -f ../Makefile VPATH=..).
ROOT       := $(if $(VPATH),$(VPATH)/)
EXTVERSION := $(shell sed -n "s/^default_version *= *'\([^']*\)'.*/\1/p" $(ROOT)fastclust.control)

# One line for each file; V=1 shows the commands, and -s hides both.
SILENT := $(findstring s,$(firstword -$(MAKEFLAGS)))
ifeq ($(V),)
MAKEFLAGS += --silent
say = $(if $(SILENT),,@echo "  $(1)")
else
say =
endif

PG_CONFIG ?= pg_config
PGXS      := $(shell $(PG_CONFIG) --pgxs 2>/dev/null)

# OpenBLAS and L-BFGS-B are opened when first needed; building takes nothing of theirs.  OpenBLAS is looked for here first.
MACHINE      := $(shell $(CC) -dumpmachine 2>/dev/null)
MULTIARCH    := $(shell echo '$(MACHINE)' | sed 's/-[a-z]*-linux/-linux/')
OPENBLAS_DIR ?= /usr/lib/$(MULTIARCH)/openblas-serial

# Sums are integers of 128 bits, which compilers for 32-bit machines do not have.
ifeq ($(shell echo __SIZEOF_INT128__ | $(CC) -E -P - 2>/dev/null),__SIZEOF_INT128__)
$(error fastclust needs a 64-bit machine: $(CC) for $(MACHINE) has no integer of 128 bits)
endif

# The core: strict flags of its own, the same whoever built the server.  Sums must
# not depend on the compiler, so no contraction outside the inner loops (*_simd.c).
# Vectors wider than the machine's are passed among inline functions alone: no ABI to warn of.
# The compiler writes which headers an object was made of into a file beside it.
DEPENDENCIES  = -MMD -MP
OPTFLAGS     ?=
CORE_WARN     = -Wall -Wextra -Wconversion -Wshadow -Wno-psabi $(if $(WERROR),-Werror)
CORE_CFLAGS   = -std=gnu11 -O3 -g -ffp-contract=off -fPIC -fvisibility=hidden $(CORE_WARN) $(ASSERTIONS) $(OPTFLAGS)
CORE_CPPFLAGS = -I$(ROOT)src/core $(DEPENDENCIES)
SIMD_FLAGS    = -ffp-contract=fast

# The core's assertions: with a server that has its own, and in all tests without a server.
ASSERTIONS := $(if $(shell grep -s 'define USE_ASSERT_CHECKING 1' "$$($(PG_CONFIG) --includedir-server 2>/dev/null)/pg_config.h"),-DFC_ASSERTIONS)

# The inner loops of sketching have one build per instruction set; the machine chooses at run time.
ISA_base = -DFC_ISA=0
ISA_v3   = -DFC_ISA=3 -march=x86-64-v3
ISA_v4   = -DFC_ISA=4 -march=x86-64-v4 -mprefer-vector-width=512
ISAS    := base $(if $(filter x86_64-%,$(MACHINE)),v3 v4)

# Objects keep their room: files of two rooms may have one name.
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
# every file begins in a database that has the extension, and finds it
REGRESS_OPTS = --load-extension=fastclust --launcher=$(abspath $(ROOT)test/psql.sh)
REGRESS     = $(patsubst sql/%.sql,%,$(call sources,sql/*.sql))

PG_CPPFLAGS = -I$(ROOT)src/core -I$(ROOT)src $(DEPENDENCIES) -DFC_OPENBLAS_DIR='"$(OPENBLAS_DIR)"'
PG_CFLAGS   = -Wall -Wextra -Wno-unused-parameter -Wno-sign-compare -Wno-missing-field-initializers \
	$(CLANG_WARN) $(if $(WERROR),-Werror) $(OPTFLAGS)
# A server built with gcc hands its flags to every compiler, and its headers name gcc's attributes.
CLANG_WARN  = $(if $(findstring clang,$(shell $(CC) --version)),-Wno-unknown-warning-option -Wno-ignored-optimization-argument \
	-Wno-ignored-attributes)
SHLIB_LINK  = -ldl -lm

# Nothing but the SQL entry points leaves the module: its stand-ins for BLAS and the
# core must never meet another module's.  (Servers before 16 do not mark entry points,
# so a version script, not -fvisibility, draws the line.)
ifeq ($(shell uname -s),Linux)
SHLIB_LINK += -Wl,--version-script=$(ROOT)src/pg/exports.map
endif

.DEFAULT_GOAL := all

# PGXS has a target check of its own.
ifneq ($(if $(filter check,$(MAKECMDGOALS)),,$(PGXS)),)
override with_llvm = no
include $(PGXS)
else ifeq ($(filter unit core-types arm build/arm/% build/unit/% valgrind purity census fuzz sanitized mutators soak installations test check lint indent docs docs-serve demo clean dist setup deb package-test matrix,$(MAKECMDGOALS)),)
$(error $(PG_CONFIG) does not answer: install the server's development package, or set PG_CONFIG; "make test" installs all it needs)
endif

$(OBJS): Makefile
ifneq ($(ROOT),)
# make would take objects that lie beside the sources, though another server or compiler may have made them.
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

# Tests without a server: the same sources, other flags, in build/<kind>.
TESTED_NAMES := $(CORE_NAMES:%=core/%) blas/blas_stubs blas/blas_library blas/blas_failure
UNITS      := $(patsubst test/unit/%.c,%,$(sort $(wildcard test/unit/test_*.c)))
FUZZERS    := $(patsubst test/fuzz/%.c,%,$(sort $(wildcard test/fuzz/fuzz_*.c)))
FUZZ_SECONDS ?= 20
VALGRIND_UNITS ?= $(UNITS)
CLANG      ?= clang
CHECK_LIBS  = -ldl -lm
SANITIZE    = -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer

# Inner loops are tested as they are built: vectorised (a later -O wins).
KIND_SIMD   = -O3 $(SIMD_FLAGS)

KIND_CFLAGS = -std=gnu11 -O1 -g -ffp-contract=off -Wno-psabi -DFC_ASSERTIONS

kind_cc_unit        = $(CC) $(KIND_CFLAGS) $(SANITIZE)
kind_cc_sanitized   = $(CC) $(KIND_CFLAGS) $(SANITIZE) -fPIC -fvisibility=hidden
kind_cc_valgrind    = $(CC) $(KIND_CFLAGS)
kind_cc_cov         = $(CC) $(KIND_CFLAGS) --coverage -fPIC -fvisibility=hidden
kind_cc_arm         = $(CC) $(KIND_CFLAGS) -O3
kind_cc_fuzz        = $(CLANG) $(KIND_CFLAGS) -fsanitize=fuzzer-no-link $(SANITIZE)

# $(1) kind: rules for its core objects
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
$(foreach kind,unit valgrind fuzz sanitized cov arm,$(eval $(call kind_rules,$(kind))))

# The same readers' mutators as filters, for values that go through a server.
build/unit/mutate_%: test/fuzz/fuzz_%.c $(wildcard test/fuzz/*.h) $(TESTED_NAMES:%=build/unit/%.o)
	@mkdir -p $(@D)
	$(call say,CC $@)
	$(kind_cc_unit) -DFUZZ_MUTATE $(CORE_WARN) $(CORE_CPPFLAGS) -o $@ $< $(filter %.o,$^) $(CHECK_LIBS)

mutators: $(FUZZERS:fuzz_%=build/unit/mutate_%)

build/fuzz/fuzz_%: test/fuzz/fuzz_%.c $(wildcard test/fuzz/*.h) $(TESTED_NAMES:%=build/fuzz/%.o)
	@mkdir -p $(@D)
	$(call say,CC $@)
	$(kind_cc_fuzz) -fsanitize=fuzzer $(CORE_WARN) $(CORE_CPPFLAGS) -o $@ $< $(filter %.o,$^) $(CHECK_LIBS)

# The module of another kind, for the server that PG_CONFIG names.  $(1) kind, $(2) flags
define module_rules
build/$(1)/pg/%.o: src/pg/%.c Makefile
	@mkdir -p $$(@D)
	$$(call say,CC $$@)
	$$(CC) $$(CFLAGS) $(2) -fPIC $$(CPPFLAGS) -c -o $$@ $$<

build/$(1)/$(MODULE_big).so: $$(CORE_NAMES:%=build/$(1)/core/%.o) $$(GLUE_OBJS:src/pg/%=build/$(1)/pg/%) src/pg/exports.map
	$$(call say,LD $$@)
	$$(CC) -shared $(2) -o $$@ $$(filter %.o,$$^) $$(SHLIB_LINK)
endef

# tools/sanitized.sh installs it into a server of its own.  (-fno-wrapv: overflow is an error here.)
$(eval $(call module_rules,sanitized,-fno-wrapv $(SANITIZE)))
$(eval $(call module_rules,cov,-O1 --coverage))

sanitized:
	@tools/sanitized.sh build

# Which lines do the tests reach?  COV_TESTS: the TAP tests that count.
COV_TESTS ?= $(sort $(wildcard test/t/*.pl))

cov: $(UNITS:%=build/cov/%) build/cov/$(MODULE_big).so all
	PG_CONFIG="$(PG_CONFIG)" COV_TESTS="$(COV_TESTS)" tools/cov.sh build/cov $(UNITS:%=build/cov/%)

.SECONDARY:

-include $(wildcard build/*/core/*/*.d build/*/blas/*.d build/*/pg/*/*.d build/*/*.d)

# The programs of the benchmarks are built as well, so that they follow the core.
BENCHES := $(patsubst bench/%.c,%,$(sort $(wildcard bench/*.c)))

build/unit/bench_%: bench/%.c $(wildcard bench/*.h) $(TESTED_NAMES:%=build/unit/%.o)
	@mkdir -p $(@D)
	$(call say,CC $@)
	$(kind_cc_unit) $(CORE_CPPFLAGS) -o $@ $< $(filter %.o,$^) $(CHECK_LIBS)

unit: $(UNITS:%=build/unit/%) $(BENCHES:%=build/unit/bench_%)
	@tools/run-checks.sh unit $(UNITS:%=build/unit/%)

# Nothing may depend on which of OpenBLAS's kernels a processor gets.
CORE_TYPES ?= Haswell Zen Sandybridge Nehalem
CORE_TYPE_UNITS ?= $(UNITS)

core-types: $(CORE_TYPE_UNITS:%=build/unit/%)
	@status=0; for type in $(CORE_TYPES); do OPENBLAS_CORETYPE=$$type tools/run-checks.sh unit $^ || status=1; done; exit $$status

# The unit tests on ARM, by Debian's cross compiler and qemu; those that need OpenBLAS are skipped where ARM_ROOT
# has none (tools/arm-root.sh makes one that has).  test_blas starts programs, which qemu-user does not pass on.
ARM_CC   ?= aarch64-linux-gnu-gcc
ARM_ROOT ?= $(firstword $(patsubst %/complete,%,$(wildcard /var/tmp/fastclust-arm64/complete)) /usr/aarch64-linux-gnu)

# As many at once: together they take half an hour of a processor, though no minute without qemu.
ARM_JOBS  ?= $(shell nproc 2>/dev/null || echo 1)

# A processor without dot products of bytes.
ARM_OLD   ?= cortex-a57
ARM_UNITS ?= $(filter-out test_blas,$(UNITS))

arm:
	@tools/setup.sh arm
	@$(MAKE) -s -k CC=$(ARM_CC) $(ARM_UNITS:%=build/arm/%)
	@printf '%s\n' $(ARM_UNITS:%=build/arm/%) | QEMU_LD_PREFIX=$(ARM_ROOT) xargs -P $(ARM_JOBS) -n 1 tools/run-checks.sh arm
	@$(if $(filter test_screen,$(ARM_UNITS)),QEMU_CPU=$(ARM_OLD) QEMU_LD_PREFIX=$(ARM_ROOT) tools/run-checks.sh arm build/arm/test_screen)

valgrind: $(VALGRIND_UNITS:%=build/valgrind/%)
	@tools/run-checks.sh valgrind $^

purity: $(CORE_NAMES:%=build/valgrind/core/%.o) $(if $(PGXS),$(GLUE_OBJS))
	@test/purity.pl $^

# The C of src as PostgreSQL's pgindent leaves it; INDENT=--check only looks.
indent:
	@tools/indent.pl $(INDENT)

# cppcheck and clang-tidy, where they are installed.
lint:
	@tools/lint.sh "$$($(PG_CONFIG) --includedir-server)"

# Figures of the sources, and the ceilings of test/census.
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

# Tests with a server: a private one on a unix socket, gone afterwards.
PROVE_TESTS ?= $(sort $(wildcard test/t/*.pl))

installcheck: export PGOPTIONS = -c search_path=public,fastclust,fastclust_internal -c client_min_messages=warning
regress:
	tools/with-server.sh $(MAKE) installcheck PG_CONFIG="$(PG_CONFIG)"

prove:
	PG_CONFIG="$(PG_CONFIG)" prove -Itest/t $(PROVE_FLAGS) $(PROVE_TESTS)

installations:
	test/installations.sh $(INSTALLATIONS)

bench: all
	PG_CONFIG="$(PG_CONFIG)" bench/run.sh

# Every server below SERVERS, and Debian's, with gcc and clang; see tools/matrix.sh.
SERVERS ?= /var/cache/fastclust

matrix:
	@tools/matrix.sh $(SERVERS)

setup:
	@tools/setup.sh

# Tests that are too long for every day; see tools/soak.sh for the pieces and their lengths.
SOAK ?=

soak:
	@tools/soak.sh $(SOAK)

test:
	@tools/test.sh

# One test: TEST=sql/drift, test/t/104_report, test/unit/test_kmeans; with or without an ending.
TEST ?=

ifneq ($(filter check,$(MAKECMDGOALS)),)
check:
	@tools/check.sh $(TEST)
endif

# The site of docs/, in build/site, by mkdocs with the theme material, both of Debian.
docs:
	@tools/docs.sh build

docs-serve:
	@tools/docs.sh serve

# Runs the pages and writes what psql prints below each block of SQL.  PAGES="first-model customers"
docs-outputs: all
	@tools/install.sh >/dev/null
	@tools/with-server.sh perl -Itest/t -MPages -e 'Pages::write_outputs("psql", @ARGV)' $(PAGES)

demo:
	@demo/demo.sh

# At a release: the SQL script of this version, kept in test/upgrade for the test of upgrades.
freeze:
	@tools/freeze.sh

# A zip for PGXN of what is committed, checked.
dist:
	@tools/dist.sh

# Debian packages, in build/deb.
deb:
	@tools/deb.sh

# They install in a bare Debian of each suite, by apt.  SUITES="bookworm trixie"
package-test:
	@test/packages.sh $(SUITES)

ifeq ($(PGXS),)
clean:
	rm -rf $(EXTRA_CLEAN)
endif

.PHONY: all unit core-types arm cov valgrind purity lint indent census fuzz mutators sanitized regress prove installations bench setup soak test check docs docs-serve docs-outputs demo freeze dist deb package-test matrix clean
