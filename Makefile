# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
#
# A thin front over Meson and Ninja: everything that is a build lives in meson.build.
BUILD ?= build
MESON ?= meson
NINJA ?= ninja
export YES BUILD
# `make try` takes the build that is there. Otherwise it makes one in a separate directory, in half the time: not optimised
# (so without _FORTIFY_SOURCE, too), without debug information, and without the tests.
TRY = $(if $(filter file,$(origin BUILD)),$(if $(wildcard $(BUILD)/build.ninja),$(BUILD),build-try),$(BUILD))
build-try/build.ninja: SETUP = -Doptimization=0 -Ddebug=false -Dtests=false

# The value of an option of the build directory.
option = $$($(MESON) introspect $(BUILD) --buildoptions | python3 -c \
	'import json, sys; print([o["value"] for o in json.load(sys.stdin) if o["name"] == "$(1)"][0])')

.PHONY: programs all try check check-all conformance escape agree torture install uninstall format fuzz bench dist clean

# What runs: command line, library, helpers and attacks; no test.
programs: $(BUILD)/build.ninja
	@$(NINJA) -C $(BUILD) programs
	@tools/optional $(BUILD)

all: $(BUILD)/build.ninja
	@$(NINJA) -C $(BUILD)

$(sort $(BUILD)/build.ninja build-try/build.ninja):
	@tools/deps build
	@echo "configuring $(@D)"
	@out=$$($(MESON) setup $(SETUP) $(@D) 2>&1) || { echo "$$out"; exit 1; }

# A tool in its cage, and the two attacks that every introduction names, stopped.
try:
	@tools/deps build try
	@$(MAKE) -s --no-print-directory $(TRY)/build.ninja
	@$(NINJA) -C $(TRY) programs
	@tools/try $(TRY)

# The suites, but for long forms and for what this change has not touched. The last line is the sum.
check: suites = tools/run-tests $(BUILD)
# All of them.
check-all: suites = tools/run-tests $(BUILD) --all
check check-all:
	@tools/deps build test try
	@# what was absent at the configuration may be here by now: unit tests, the catalog, the addon for Node.js
	@[ ! -e $(BUILD)/build.ninja ] || $(MESON) setup --reconfigure $(BUILD)
	@$(MAKE) --no-print-directory all
	@$(suites)

# One backend against every clause, as whoever asks; docs/backends.md is drawn by the same program.
BACKEND ?= process
conformance: all
	@tests/conformance/run.py --toolcage $(BUILD)/toolcage --probe $(BUILD)/tests/conformance/probe --backend $(BACKEND)

# Every attack on one backend; "make check" leaves out those on containers that the cage itself has no part in.
escape: all
	@tests/escape/run.py --backend $(BACKEND) $(if $(RUNTIME),--runtime $(RUNTIME)) --toolcage $(BUILD)/toolcage \
		$(BUILD)/attacks/toolcage-attacks

# The long form of a test: explain against cages, over thousands of policies made by chance. The seed is printed.
COUNT ?= 4000
agree: all
	@for user in "" "--as-user 65533"; do \
		tests/conformance/agree.py --toolcage $(BUILD)/toolcage --probe $(BUILD)/tests/conformance/probe --count $(COUNT) $$user || exit 1; \
	done

# Each system call and allocation failing in turn, and processes killed at random: hours, where "check" tries some.
torture: all
	@tests/torture/all $(BUILD)

# PREFIX=/opt/toolcage puts it there, for this and later installs of the build directory. What is installed is optimised:
# a debug build is built anew (BUILDTYPE=release in place of debugoptimized, which every build is by default). STRIP=1
# leaves out symbols and debug information.
install: $(BUILD)/build.ninja
	@case "$(call option,b_sanitize)" in none | '[]') ;; *) \
		echo "make: $(BUILD) is a build with sanitizers, which nobody should install; hint: make install BUILD=build-install" >&2; exit 1 ;; esac
	@case "$(BUILDTYPE),$(call option,optimization)" in \
		,0 | ,g) $(MESON) configure $(BUILD) -Dbuildtype=debugoptimized ;; \
		,*) ;; \
		*) [ "$(BUILDTYPE)" = "$(call option,buildtype)" ] || $(MESON) configure $(BUILD) -Dbuildtype="$(BUILDTYPE)" ;; \
	esac
	@if [ -n "$(PREFIX)$(prefix)" ]; then $(MESON) configure $(BUILD) -Dprefix="$(or $(PREFIX),$(prefix))"; fi
	@$(NINJA) -C $(BUILD) $$(tools/install-targets $(BUILD))
	@$(MESON) install -C $(BUILD) --no-rebuild $(if $(filter-out 0,$(STRIP)),--strip)
	@[ -n "$(DESTDIR)" ] || [ "$$(id -u)" != 0 ] || PATH=$$PATH:/sbin ldconfig

# Removes what the last install from this build directory put there.
uninstall:
	@$(NINJA) -C $(BUILD) uninstall

format:
	@tools/format --write

# Each target for FUZZ_SECONDS (60) over its corpus; needs clang.
fuzz:
	@tools/fuzz

bench: all
	@bench/run $(BUILD)

dist: $(BUILD)/build.ninja
	@$(MESON) dist -C $(BUILD) --no-tests

clean:
	@rm -rf $(BUILD) build-try
