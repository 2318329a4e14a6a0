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
	$(COMPILE) -Wno-overlength-strings -c $< -o $@

$(B)/anteroom-gateway: $(call obj,gateway/main.c $(GATEWAY)) $(O)/libcommon.a
	$(CC) $(LDFLAGS_ALL) $(LDFLAGS) -o $@ $^ $(DEP_LIBS)
$(B)/anteroom-publisher: $(call obj,publisher/main.c $(PUBLISHER)) $(O)/libcommon.a
	$(CC) $(LDFLAGS_ALL) $(LDFLAGS) -o $@ $^ $(DEP_LIBS)
$(B)/anteroom-crowd: $(call obj,$(wildcard tests/load/*.c)) $(O)/libcommon.a
	$(CC) $(LDFLAGS_ALL) $(LDFLAGS) -o $@ $^ $(DEP_LIBS)

# One cmocka program a file: tests/unit/test_NOUN.c; its support code is tests/support/*.c.
TESTS := $(wildcard tests/unit/test_*.c)
TEST_PROGRAMS := $(patsubst tests/unit/%.c,$(B)/unit/%,$(TESTS))
$(B)/unit/%: $(O)/tests/unit/%.o $(call obj,$(wildcard tests/support/*.c) $(GATEWAY) $(PUBLISHER)) $(O)/libcommon.a
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS_ALL) $(LDFLAGS) -o $@ $^ $(DEP_LIBS) -lcmocka

.PHONY: unit-programs
unit-programs: $(TEST_PROGRAMS)
.SECONDARY:

-include $(shell find $(O) -name '*.d' 2>/dev/null)
