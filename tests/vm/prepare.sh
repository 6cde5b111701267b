# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
# shellcheck shell=bash
#
# Sourced by run: makes what a variant boots (kernel, initramfs, an ext4 root) and keeps it in the
# cache under a key of everything that went in. A directory gets its name only when whole, so a cut
# run leaves nothing half made that a later one could boot. Needs no root: mmdebstrap then works in a
# user namespace and fakeroot keeps the owners.

# ext4, not squashfs below an overlay: the product id-maps mounts, and overlayfs cannot be id-mapped.
root_size=8G
# The first release whose AppArmor knows a rule about user namespaces.
apparmor_suite=trixie

# apt sources for the suites, from this machine's own configuration; empty: mmdebstrap's defaults.
sources_for()
{
	apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
		awk -v suites="$1" '
			BEGIN { n = split(suites, list, ","); for (i = 1; i <= n; i++) want[list[i]] = 1 }
			want[$2] && $3 == "main" && !seen[$0]++ { print "deb " $1 " " $2 " main" }'
}

# The mirror of the variant's own suite has the other releases too.
mirror()
{
	local uri
	uri=$(sources_for "$suite" | awk 'NR == 1 { print $2 }')
	echo "${uri:-https://deb.debian.org/debian}"
}

# A cpio archive as the kernel reads it, into file $2.
pack_cpio()
{
	(cd "$1" && find . | busybox cpio -o -H newc 2>/dev/null) >"$2"
	truncate -s %512 "$2"
}

image_key()
{
	{ echo "$suite $more_suites $kernel_suite $kernel_meta $with $root_size $apparmor_suite"; cat "$here/packages" \
		"$here/prepare.sh" "$here"/guest/{initramfs-init,init,wait,vm.service}; } | sha256sum | cut -c1-16
}

# A text, not a file: in mmdebstrap's user namespace nothing of the caller's can be read.
# Debian's stock kernel is unpacked, not installed: its own initramfs would cost minutes and 10 s a boot.
# AppArmor's parser of a later release runs with the C library of that release, below /opt/apparmor.
image_hook()
{
	cat <<-'HOOK'
		set -eu
		export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
		cd "$1"
		unpack()
		{
			suite=$1 into=$2
			shift 2
			mkdir -p "$into" tmp/debs
			chroot . sh -c 'cd /tmp/debs && suite=$1 && shift &&
				apt-get -qq -o APT::Sandbox::User=root -t "$suite" download "$@"' sh "$suite" "$@"
			for deb in tmp/debs/*.deb; do
				dpkg-deb -x "$deb" "$into"
			done
			rm -rf tmp/debs
		}
		for suite in $FOREIGN; do
			echo "deb $MIRROR $suite main"
		done >etc/apt/sources.list.d/foreign.list
		chroot . apt-get -qq update
		parts=$(chroot . apt-cache -o APT::Default-Release="$KERNEL_SUITE" -i --recurse depends "$KERNEL_META" |
			grep -E '^linux-(image|binary|modules|base)-[0-9]' | sort -u)
		# From a suite of a later release no more than the one version is asked for.
		release=$(chroot . apt-cache -o APT::Default-Release="$KERNEL_SUITE" depends "$KERNEL_META" |
			sed -n 's/^ *Depends: linux-image-\([0-9].*\)$/\1/p' | head -n1)
		unpack "$KERNEL_SUITE" tmp/kernel $(printf '%s\n' $parts | grep -F -- "-$release" | grep -v unsigned)
		find tmp/kernel -name 'vmlinuz*' -type f -exec cp {} boot/vmlinuz \;
		[ -d tmp/kernel/usr/lib/modules ] || { mkdir -p tmp/kernel/usr/lib; mv tmp/kernel/lib/modules tmp/kernel/usr/lib/; }
		mv tmp/kernel/usr/lib/modules usr/lib/
		rm -rf tmp/kernel
		release=$(ls usr/lib/modules)
		chroot . depmod "$release"
		for module in virtio_pci virtio_blk ext4; do
			chroot . modprobe -S "$release" --show-depends "$module"
		done >boot/needed # builtin ones are no insmod line
		awk '$1 == "insmod" && !seen[$2]++ { print $2 }' boot/needed >boot/order
		case ,$WITH, in *,apparmor,*)
			unpack "$APPARMOR_SUITE" opt/apparmor apparmor libapparmor1 libc6 libgcc-s1 libstdc++6 ;;
		esac
		rm -rf etc/apt/sources.list.d/foreign.list
		chroot . useradd --uid 1000 --create-home --shell /bin/bash user
		mkdir -p vm job
		echo "$GUEST_INIT" >vm/init
		echo "$GUEST_WAIT" >vm/wait
		chmod 755 vm/init vm/wait
		case ,$WITH, in *,systemd,*)
			echo "$GUEST_SERVICE" >etc/systemd/system/vm.service
			chroot . systemctl -q enable vm.service
			chroot . systemctl -q mask apt-daily.timer apt-daily-upgrade.timer e2scrub_all.timer fstrim.timer \
				systemd-networkd-wait-online.service getty@tty1.service serial-getty@ttyS0.service
			for manager in system user; do
				mkdir -p etc/systemd/$manager.conf.d
				printf '[Manager]\nDefaultTimeoutStartSec=900\nDefaultTimeoutStopSec=900\n' >etc/systemd/$manager.conf.d/patience.conf
			done
			mkdir -p var/lib/systemd/linger
			touch var/lib/systemd/linger/user
			: >etc/machine-id ;;
		esac
		echo guest >etc/hostname
		printf '127.0.0.1 localhost guest\n::1 localhost\n' >etc/hosts
	HOOK
}

make_root()
{
	local work=$1 packages sources=()
	packages=$(awk -v with="$with" '!/^#/ && NF && (NF == 1 || index("," with ",", "," $2 ",")) { print $1 }' \
		"$here/packages" | paste -sd,)
	sources_for "$suite,$more_suites" >"$work/sources.list"
	[ ! -s "$work/sources.list" ] || sources=("$work/sources.list")
	MIRROR=$(mirror) KERNEL_META=$kernel_meta KERNEL_SUITE=$kernel_suite WITH=$with APPARMOR_SUITE=$apparmor_suite \
		FOREIGN=$(foreign_suites) GUEST_INIT=$(cat "$here/guest/init") GUEST_WAIT=$(cat "$here/guest/wait") \
		GUEST_SERVICE=$(cat "$here/guest/vm.service") \
		timeout 1800 mmdebstrap --quiet --variant=minbase --architectures=amd64 \
		--include="$packages" --customize-hook="$(image_hook)" "$suite" "$work/root.tar" \
		"${sources[@]}" || die "mmdebstrap failed" "try: apt-get update; the log is above"
}

foreign_suites()
{
	local wanted
	for wanted in "$kernel_suite" $([[ ,$with, != *,apparmor,* ]] || echo "$apparmor_suite"); do
		[[ ",$suite,$more_suites," = *",$wanted,"* ]] || echo "$wanted"
	done | paste -sd' '
}

make_disk()
{
	local work=$1 fake=()
	[ "$(id -u)" = 0 ] || fake=(fakeroot)
	"${fake[@]}" sh -eu -c '
		mkdir "$1/root"
		tar -C "$1/root" -xf "$1/root.tar"
		cp "$1"/root/boot/vmlinuz "$1/kernel"
		mkdir "$1/modules"
		while read -r module; do
			name=$(basename "$module" .xz)
			case $module in
			*.xz) xz -dc "$1/root/$module" >"$1/modules/$name" ;;
			*) cp "$1/root/$module" "$1/modules/$name" ;;
			esac
			echo "$name" >>"$1/modules/order"
		done <"$1/root/boot/order"
		rm -rf "$1"/root/boot/*
		mke2fs -q -t ext4 -E root_owner=0:0,lazy_itable_init=1 -d "$1/root" "$1/root.ext4" "$2" >/dev/null
		rm -rf "$1/root" "$1/root.tar"' sh "$work" "$root_size"
}

# Only what stands between the kernel and the root disk, and no udev: 3 s to a shell instead of 10.
make_initramfs()
{
	local work=$1 tree=$1/initramfs.d
	mkdir -p "$tree"/{bin,dev,proc,new,lib}
	mv "$work/modules" "$tree/lib/modules"
	cp "$(command -v busybox)" "$tree/bin/busybox"
	install -m 755 "$here/guest/initramfs-init" "$tree/init"
	pack_cpio "$tree" "$work/initramfs"
	rm -rf "$tree"
}

# Sets $image to the directory that holds kernel, initramfs and root.ext4.
prepare_image()
{
	local work
	image=$cache/$variant-$(image_key)
	[ ! -e "$image/root.ext4" ] || [ -n "$refresh" ] || return 0
	say "preparing $variant in $cache (once; some minutes)"
	mkdir -p "$cache"
	find "$cache" -maxdepth 1 -name '.making-*' -mmin +120 -exec rm -rf {} +
	work=$(mktemp -d "$cache/.making-XXXXXX")
	# shellcheck disable=SC2064
	trap "rm -rf '$work'" EXIT
	make_root "$work"
	make_disk "$work"
	make_initramfs "$work"
	# Older images of the variant go; a guest that still runs from one keeps its open disk.
	rm -rf "$cache/$variant"-????????????????
	mv "$work" "$image"
}
