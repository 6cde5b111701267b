#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
#
# usage: build.sh ask|bootstrap [NAME=VALUE of apt...]
#
# Builds the root of an image for toolcage-image, which sets and validates all variables: the paths of the programs
# (APT_GET...), a working directory (OWN), apt's user (APT_USER), and the request (SUITE, MIRROR, KEYRING, PACKAGES,
# MINIMAL). ask prints messages (say ...) and the variables for bootstrap; a variable without a value is omitted.
set -eu

# apt with separate directories instead of the host's.
apt() {
    program=$1 && shift
    "$program" -oDir::State="$OWN/apt/state" -oDir::State::status="$OWN/apt/state/status" -oDir::Cache="$OWN/apt/cache" \
        -oDir::Etc::SourceList="$OWN/apt/sources.list" -oDir::Etc::SourceParts=/dev/null -oAcquire::Languages=none \
        -oAcquire::IndexTargets::deb::DEP-11::DefaultEnabled=false \
        -oAcquire::IndexTargets::deb::Contents-deb::DefaultEnabled=false -oAPT::Sandbox::User="$APT_USER" "$@"
}

# The host's Debian mirror. REPO_URI is the archive's URL without the suffixes that apt adds.
find_mirror() {
    # shellcheck disable=SC2016  # apt expands these
    sites=$("$APT_GET" indextargets --format '$(REPO_URI)|$(COMPONENT)|$(SIGNED_BY)' 'Created-By: Packages')
    while [ -z "$MIRROR" ] && IFS='|' read -r address component signed_by; do
        case $component:$address in
        *[[:space:]\"\'\[\]]* | *security*) ;;
        main:http://*debian* | main:https://*debian* | main:file:///*debian*) MIRROR=$address ;;
        esac
    done <<END
$sites
END
    case $signed_by in
    *[\ ,]*) ;;
    /*) KEYRING=${KEYRING:-$signed_by} ;;
    esac
}

# A line of $offers: "nodejs | 20.19.2 | ADDRESS SUITE/main amd64 Packages".
version_of() {
    # shellcheck disable=SC2016  # awk's variables
    printf '%s\n' "$offers" | "$AWK" -v name="$1" -v place="$suite/main" '$1 == name && $6 == place { v = $3 } END { print v }'
}

# Chooses the first suitable suite; the most stable one is first. The TypeScript hook needs module.registerHooks(), which
# Node.js has since 22.15 and 23.5.
choose() {
    chosen=''
    for suite in ${SUITE:-stable testing unstable}; do
        python=$(version_of python3) node=$(version_of nodejs)
        echo "say suite $suite: python3 ${python:-none}, nodejs ${node:-none}"
        [ -z "$chosen" ] && [ -n "$python" ] || continue
        case $node in
        22.1[5-9]* | 22.[2-9][0-9]* | 23.[5-9]* | 23.[1-9][0-9]* | 2[4-9].[0-9]* | [3-9][0-9].[0-9]*) typescript=yes ;;
        *) typescript='' ;;
        esac
        [ -z "$SUITE$MINIMAL$typescript" ] || chosen=$suite
    done
}

ask() {
    for option; do
        shift
        set -- "$@" "-o$option"
    done
    [ -n "$MIRROR" ] || find_mirror
    usual=/usr/share/keyrings/debian-archive-keyring.gpg
    [ -n "$KEYRING" ] || [ ! -r "$usual" ] || KEYRING=$usual
    [ -n "$MIRROR" ] && [ -n "$KEYRING" ] || return 0
    printf 'MIRROR=%s\nKEYRING=%s\n' "$MIRROR" "$KEYRING"
    "$MKDIR" -p "$OWN/apt/state/lists/partial" "$OWN/apt/cache"
    : >"$OWN/apt/state/status"
    for suite in ${SUITE:-stable testing unstable}; do
        echo "deb [signed-by=$KEYRING] $MIRROR $suite main"
    done >"$OWN/apt/sources.list"
    apt "$APT_GET" "$@" -qq update >&2 || echo "say not every suite can be used (apt-get failed with exit code $?)"
    offers=$(apt "$APT_CACHE" "$@" madison python3 nodejs)
    choose
    [ -n "$chosen" ] || return 0
    [ -z "$typescript" ] && runs='does not run' || runs=runs
    echo "say building from $chosen; Node.js there $runs TypeScript as it is"
    printf 'SUITE=%s\nTYPESCRIPT=%s\nEPOCH=' "$chosen" "$typescript"
    # date of the suite's last change
    "$SED" -n '/^Date: /{s///p;q}' "$OWN/apt/state/lists/"*"_dists_${chosen}_InRelease" | "$DATE" -u -f - +%s || :
}

# Excludes manuals, and files for compilers, editors and debuggers, which npm's packages bring with the development files of
# Node.js and OpenSSL. The default image also does without what git brings for servers and mail: its servers, and the Perl
# modules that perl-base does not have; an added package may need them. dpkg obeys the last rule that matches a path.
bootstrap() {
    for option; do
        shift
        set -- "$@" "--aptopt=${option%%=*} \"${option#*=}\""
    done
    [ -n "$MINIMAL$PACKAGES" ] && extras='' ||
        extras='share/perl/* lib/*/perl/* lib/git-core/git-daemon lib/git-core/git-http-backend lib/git-core/git-http-push
            lib/git-core/git-imap-send lib/git-core/git-shell lib/git-core/scalar bin/git-shell bin/scalar'
    [ -n "$MINIMAL" ] || PACKAGES=python3,python3-pip,nodejs,npm,node-typescript,git,curl,ca-certificates${PACKAGES:+,$PACKAGES}
    set -- '--dpkgopt=path-include=/usr/share/nodejs/typescript/*.d.ts' ${PACKAGES:+"--include=$PACKAGES"} "$@" \
        "$SUITE" "$OWN/root.tar" "$MIRROR"
    set -f # $extras has patterns
    # shellcheck disable=SC2086  # each word is a pattern
    for path in 'lib/*/libuv.a' 'lib/*/libssl.a' 'lib/*/libcrypto.a' 'share/nodejs/*[jt]s.map' 'share/nodejs/*.d.ts' \
        'share/nodejs/typescript/lib/*/diagnosticMessages.generated.json' 'share/nodejs/@types/*' 'share/bash-completion/*' \
        'share/lintian/*' 'share/locale/*' 'share/info/*' 'share/doc/*' 'share/man/*' 'include/*' $extras; do
        set -- "--dpkgopt=path-exclude=/usr/$path" "$@" # dpkg's configuration in the image keeps this order
    done
    set -- "$MMDEBSTRAP" --variant=essential --format=tar '--aptopt=APT::Install-Recommends "false"' --keyring="$KEYRING" "$@"
    unset MMDEBSTRAP APT_USER OWN SUITE MIRROR KEYRING PACKAGES MINIMAL TYPESCRIPT EPOCH # which packages' scripts would get
    exec "$@"
}

"$@"
