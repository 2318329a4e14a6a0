# anteroom: `make` builds the three programs into build/. See `make help`.
V ?= release
B := $(if $(filter release,$(V)),build,build/$(V))
O := $(B)/obj
CC ?= cc

WARN := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wformat=2 -Wundef -Wvla -Wstrict-prototypes -Wmissing-prototypes \
        -Wwrite-strings -Wcast-align -Wimplicit-fallthrough -Wswitch-enum
# Errors for us, not for packagers.
WERROR ?= -Werror
CPPFLAGS += -I. -D_GNU_SOURCE -include common/base/banned.h
CFLAGS_ALL := -std=c11 -g $(WARN) $(WERROR) -fno-omit-frame-pointer
LDFLAGS_ALL :=
ifeq ($(V),release)
CFLAGS_ALL += -O2 -D_FORTIFY_SOURCE=2 -fstack-protector-strong -fPIE
LDFLAGS_ALL += -pie -Wl,-z,relro,-z,now
else ifeq ($(V),asan)
CFLAGS_ALL += -O1 -fsanitize=address,undefined -fno-sanitize-recover=all
LDFLAGS_ALL += -fsanitize=address,undefined
else ifeq ($(V),tsan)
CFLAGS_ALL += -O1 -fsanitize=thread
LDFLAGS_ALL += -fsanitize=thread
else ifeq ($(V),fuzz)
CC := clang
CFLAGS_ALL += -O1 -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all
LDFLAGS_ALL += -fsanitize=address,undefined
else ifeq ($(V),coverage)
CFLAGS_ALL += -O0 --coverage
LDFLAGS_ALL += --coverage
else
CFLAGS_ALL += -O0
endif

# llhttp: a library where Debian has one, else the sources node-llhttp ships, else those deploy/packages unpacked.
ifeq ($(shell pkg-config --exists libllhttp 2>/dev/null && echo yes),yes)
LLHTTP_CFLAGS := $(shell pkg-config --cflags libllhttp)
LLHTTP_LIBS := $(shell pkg-config --libs libllhttp)
else
LLHTTP_ROOT := $(firstword $(wildcard /usr/share/llhttp) $(wildcard build/llhttp/usr/share/llhttp))
LLHTTP_CFLAGS := -isystem $(dir $(LLHTTP_ROOT))include/llhttp -isystem $(dir $(LLHTTP_ROOT))include -DLLHTTP_STRICT_MODE=1
LLHTTP_SOURCES := $(wildcard $(LLHTTP_ROOT)/*.c $(LLHTTP_ROOT)/src/*.c)
LLHTTP_OBJECTS := $(patsubst %.c,$(O)/llhttp/%.o,$(notdir $(LLHTTP_SOURCES)))
endif

PKGS := libuv hiredis libjwt jansson libssl libcrypto
DEP_CFLAGS := $(patsubst -I%,-isystem %,$(shell pkg-config --cflags libuv libjwt jansson libssl libcrypto)) $(LLHTTP_CFLAGS)
DEP_LIBS := $(shell pkg-config --libs $(PKGS)) $(LLHTTP_LIBS) -lm
COMPILE = $(CC) $(CPPFLAGS) $(DEP_CFLAGS) $(CFLAGS_ALL) $(CFLAGS) -MMD -MP

BASE := $(wildcard common/base/*.c)
COMMON := $(wildcard common/*/*.c)
GATEWAY := $(filter-out gateway/main.c,$(wildcard gateway/*.c))
PUBLISHER := $(filter-out publisher/main.c,$(wildcard publisher/*.c))
obj = $(patsubst %.c,$(O)/%.o,$(1))

.PHONY: all
all: $(B)/anteroom-publisher $(B)/anteroom-gateway $(B)/anteroom-crowd

$(O)/%.o: %.c
	@mkdir -p $(@D)
	@$(if $(VERBOSE),echo "$(COMPILE) -c $<",echo "CC $<")
	@$(COMPILE) -c $< -o $@

$(O)/llhttp/%.o:
	@mkdir -p $(@D)
	$(CC) -std=c11 -O2 -g -w $(filter -fsanitize% -fPIE,$(CFLAGS_ALL)) $(LLHTTP_CFLAGS) -c $(filter %/$*.c,$(LLHTTP_SOURCES)) -o $@

$(O)/libcommon.a: $(call obj,$(COMMON)) $(LLHTTP_OBJECTS) $(O)/generated.o
	@rm -f $@
	$(AR) rcsP $@ $^

# The Lua scripts, each behind the shared prelude, as C strings.
$(O)/generated.c: common/line/embed.sh $(wildcard common/line/*.lua)
	@mkdir -p $(@D)
	sh common/line/embed.sh >$@
$(O)/generated.o: $(O)/generated.c
	@$(COMPILE) -Wno-overlength-strings -c $< -o $@

# The pages each program serves, as C strings.
$(O)/web_%.c: common/base/embed.sh
	@mkdir -p $(@D)
	@sh common/base/embed.sh $(filter-out $<,$^) >$@
$(O)/web_gateway.c: $(wildcard gateway/web/*)
$(O)/web_publisher.c: $(wildcard publisher/web/*)
$(O)/web_%.o: $(O)/web_%.c
	@$(COMPILE) -Wno-overlength-strings -c $< -o $@
GATEWAY_WEB := $(O)/web_gateway.o
PUBLISHER_WEB := $(O)/web_publisher.o

$(B)/anteroom-gateway: $(call obj,gateway/main.c $(GATEWAY)) $(GATEWAY_WEB) $(O)/libcommon.a
	$(CC) $(LDFLAGS_ALL) $(LDFLAGS) -o $@ $^ $(DEP_LIBS)
$(B)/anteroom-publisher: $(call obj,publisher/main.c $(PUBLISHER)) $(PUBLISHER_WEB) $(O)/libcommon.a
	$(CC) $(LDFLAGS_ALL) $(LDFLAGS) -o $@ $^ $(DEP_LIBS)
$(B)/anteroom-crowd: $(call obj,$(wildcard tests/load/*.c)) $(O)/libcommon.a
	$(CC) $(LDFLAGS_ALL) $(LDFLAGS) -o $@ $^ $(DEP_LIBS)

# One cmocka program a file: tests/unit/test_NOUN.c; its support code is tests/support/*.c.
TESTS := $(wildcard tests/unit/test_*.c)
# tests/support/nomem.c lets our allocations fail one by one.
UNIT_LDFLAGS := -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=strdup
TEST_PROGRAMS := $(patsubst tests/unit/%.c,$(B)/unit/%,$(TESTS))
$(B)/unit/%: $(O)/tests/unit/%.o $(call obj,$(wildcard tests/support/*.c) $(GATEWAY) $(PUBLISHER)) $(GATEWAY_WEB) $(PUBLISHER_WEB) $(O)/libcommon.a
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS_ALL) $(LDFLAGS) $(UNIT_LDFLAGS) -o $@ $^ $(DEP_LIBS) -lcmocka

# One program a file: tests/fuzz/fuzz_NAME.c. V=fuzz drives it with libFuzzer, everything else with tests/fuzz/main.c.
FUZZ_TARGETS := $(patsubst tests/fuzz/fuzz_%.c,%,$(wildcard tests/fuzz/fuzz_*.c))
FUZZ_DRIVER := $(if $(filter fuzz,$(V)),-fsanitize=fuzzer,$(O)/tests/fuzz/main.o)
FUZZ_OBJECTS := $(call obj,tests/fuzz/input.c tests/support/redis_words.c $(GATEWAY) $(PUBLISHER)) $(GATEWAY_WEB) $(PUBLISHER_WEB)
$(B)/fuzz/%: $(O)/tests/fuzz/fuzz_%.o $(filter %.o,$(FUZZ_DRIVER)) $(FUZZ_OBJECTS) $(O)/libcommon.a
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS_ALL) $(LDFLAGS) $(filter -f%,$(FUZZ_DRIVER)) -o $@ $^ $(DEP_LIBS)

$(B)/bench/%: $(O)/tests/bench/%.o $(O)/libcommon.a
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS_ALL) $(LDFLAGS) -o $@ $^ $(DEP_LIBS)
BENCH_PROGRAMS := $(patsubst tests/bench/%.c,$(B)/bench/%,$(wildcard tests/bench/*.c))

.PHONY: unit-programs
unit-programs: $(TEST_PROGRAMS)
.PHONY: fuzz-programs
fuzz-programs: $(addprefix $(B)/fuzz/,$(FUZZ_TARGETS))
.SECONDARY:

-include $(shell find $(O) -name '*.d' 2>/dev/null)

# ---- commands ----

.PHONY: help demo test bench soak faults mutants fuzz valgrind check check-format check-headers check-layers check-cppcheck check-tidy check-shell check-docs clean docs-configuration
help: ## what there is
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | sort | expand -t 22
	@echo "V=asan|tsan|debug|coverage|fuzz builds into build/V"
demo: ## the whole system on this machine
	deploy/demo
test: ## all tests
	tests/run
MINUTES ?= 30
soak: all ## two thousand visitors a minute while everything breaks: memory and latency over time
	@tests/soak/run $(MINUTES)

# What clients do to memory and latency is measured without ASan.
FAULTS := publisher-points gateway-points publishers gateways rolling-restart redis clock vanished descriptors
faults: ## breaks the daemons while people wait, and counts them (docs/reliability.md; about an hour)
	$(MAKE) -s V=asan all
	$(MAKE) -s all
	tests/faults/run $(FAULTS)
	ANTEROOM_BUILD=build tests/faults/run clients storm
	ANTEROOM_NOMEM=whole /usr/bin/python3 -m pytest -q -s -p no:cacheprovider tests/integration/test_nomem.py
mutants: ## plants bugs one at a time and says which test catches each
	$(MAKE) -s V=asan all unit-programs
	tests/mutants/run
bench: all $(BENCH_PROGRAMS) ## the figures of docs/benchmarks.md
	tests/bench/run
fuzz: ## each fuzz target for SECONDS (60) under libFuzzer
	tests/fuzz/run $(or $(SECONDS),60)
valgrind: ## the daemons of some integration tests under valgrind
	tests/valgrind
clean: ## removes what was built (not build/llhttp)
	rm -rf build/obj build/asan build/tsan build/debug build/fuzz build/valgrind build/coverage build/anteroom-*

SOURCES := $(shell find common gateway publisher tests -name '*.c' -o -name '*.h' 2>/dev/null | grep -v /web/ | sort)
HEADERS := $(filter %.h,$(SOURCES))
check: check-format check-headers check-layers check-cppcheck check-tidy check-shell check-docs ## everything a reviewer should not have to look for
check-format:
	@clang-format --dry-run -Werror $(SOURCES)
# Each header compiles alone.
check-headers: $(O)/generated.c
	@for header in $(filter-out common/base/banned.h,$(HEADERS)); do \
	    echo "#include \"$$header\"" | $(CC) $(CPPFLAGS) $(DEP_CFLAGS) $(CFLAGS_ALL) -fsyntax-only -x c - || exit 1; done
check-layers:
	@sh tests/check-layers
check-cppcheck:
	@cppcheck -q --std=c11 --enable=warning,portability,performance --inline-suppr --error-exitcode=1 -D_GNU_SOURCE -DCPPCHECK -I. \
	    --suppress=missingIncludeSystem --suppress=normalCheckLevelMaxBranches --suppress=nullPointerArithmeticRedundantCheck --suppress=nullPointerRedundantCheck --suppress=unknownMacro --suppress=readdirCalled --library=posix $(filter common/% gateway/% publisher/%,$(filter %.c,$(SOURCES)))
# Left out: matters of taste, and what the analyzer gets wrong here (intrusive lists look freed, va_list looks unset; ASan knows).
TIDY := bugprone-*,clang-analyzer-*,-bugprone-easily-swappable-parameters,-bugprone-reserved-identifier,-bugprone-narrowing-conversions
TIDY := $(TIDY),-bugprone-assignment-in-if-condition,-bugprone-branch-clone,-bugprone-implicit-widening-of-multiplication-result
TIDY := $(TIDY),-bugprone-sizeof-expression,-bugprone-not-null-terminated-result,-bugprone-multi-level-implicit-pointer-conversion
TIDY := $(TIDY),-clang-analyzer-unix.Malloc,-clang-analyzer-valist.Uninitialized,-clang-analyzer-optin.performance.Padding
TIDY := $(TIDY),-clang-analyzer-security.insecureAPI.DeprecatedOrUnsafeBufferHandling
check-tidy:
	@printf '%s\0' $(filter common/% gateway/% publisher/%,$(filter %.c,$(SOURCES))) | xargs -0 -P $(shell nproc) -n 8 sh -c \
	    'clang-tidy --quiet --warnings-as-errors="*" --checks="-*,$(TIDY)" "$$@" -- $(CPPFLAGS) $(DEP_CFLAGS) -std=c11 2>/dev/null' sh
check-shell:
	@shellcheck deploy/demo deploy/packages tests/run tests/fuzz/run tests/valgrind tests/check-layers .ci/run common/line/embed.sh common/base/embed.sh
# The page of options is what the programs say.
docs/configuration.md: $(B)/anteroom-gateway $(B)/anteroom-publisher $(B)/anteroom-crowd
	@{ echo '# Configuration'; echo; echo 'Made by `make docs-configuration` from the tables in the programs; see `--help`.'; \
	   for program in publisher gateway crowd; do echo; $(B)/anteroom-$$program --help-markdown; done; } >$@
docs-configuration: ## docs/configuration.md from the option tables
	@touch -c Makefile; rm -f docs/configuration.md; $(MAKE) -s docs/configuration.md
check-docs: $(B)/anteroom-gateway $(B)/anteroom-publisher $(B)/anteroom-crowd
	@for program in publisher gateway crowd; do $(B)/anteroom-$$program --help-markdown | while IFS= read -r line; do \
	    grep -qxF -- "$$line" docs/configuration.md || { echo "docs/configuration.md is older than the options: run make docs-configuration"; exit 1; }; done || exit 1; done
