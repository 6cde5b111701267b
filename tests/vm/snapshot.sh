# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
# shellcheck shell=bash
#
# Sourced by run: starts the emulator. An image boots once; its guest then sleeps in a snapshot (memory in
# a file, disk in a qcow2 layer over the image) and each run wakes a copy of it. What a run exchanges, the
# job's and the result's disk, has one size always: the guest has seen it.
job_size=4G out_size=256M

# The machine must be the same at both ends, so there is one place that describes it. QEMU 7.2 spoils the
# flags after a cmpxchg16b, and the allocator of newer kernels uses it where the processor has it.
# describe_machine DIRECTORY SERIAL DISK sets $machine.
describe_machine()
{
	local work=$1 serial=$2 disk=$3
	machine=(qemu-system-x86_64 -accel tcg,thread=multi -M q35 -cpu max,la57=off,cx16=off
		-smp "$cpus" -m 6144 -nodefaults -no-user-config -display none -nic none
		-kernel "$image/kernel" -initrd "$image/initramfs"
		-append "console=ttyS0 panic=-1 quiet mitigations=off nokaslr tsc=reliable"
		-no-reboot -serial "$serial" -serial "unix:$work/go,server=on,wait=off"
		-qmp "unix:$work/qmp,server=on,wait=off"
		-drive "file=$disk,if=virtio,format=qcow2,cache=unsafe"
		-drive "file=$work/job.tar,if=virtio,format=raw"
		-drive "file=$work/out.tar,if=virtio,format=raw")
}

snapshot_key()
{
	{ declare -f describe_machine; echo "$cpus $job_size $out_size"; qemu-system-x86_64 --version; } |
		sha256sum | cut -c1-8
}

# Sets $snapshot to the directory that holds a sleeping guest of $image.
prepare_snapshot()
{
	local work start=$SECONDS saver emulator
	snapshot=$image/asleep-$(snapshot_key)
	[ ! -e "$snapshot/memory" ] || return 0
	say "booting $variant once"
	find "$image" -maxdepth 1 \( -name '.booting-*' -mmin +120 -o -name 'asleep-*' \) -exec rm -rf {} +
	work=$(mktemp -d "$image/.booting-XXXXXX")
	truncate -s "$job_size" "$work/job.tar"
	truncate -s "$out_size" "$work/out.tar"
	qemu-img create -q -f qcow2 -F raw -b "$image/root.ext4" "$work/disk.qcow2"
	python3 "$here/machine.py" save "$work/qmp" "$work/serial.log" "$work/memory.part" &
	saver=$!
	describe_machine "$work" "file:$work/serial.log" "$work/disk.qcow2"
	timeout --kill-after=10 1800 "${machine[@]}" &
	emulator=$!
	wait "$saver" || {
		kill "$emulator" 2>/dev/null
		wait "$emulator"
		cp "$work/serial.log" "$cache/boot-failed.log"
		rm -rf "$work"
		die "$variant did not come up" "its last words are in $cache/boot-failed.log"
	}
	wait "$emulator" || true
	mv "$work/memory.part" "$work/memory"
	rm -f "$work"/{job.tar,out.tar,qmp,go}
	mv "$work" "$snapshot"
	say "asleep after $((SECONDS - start)) s"
}

# Wakes a copy and waits for its end: the guest's exit code, 124 when it took too long, 125 when it died
# without a word.
wake()
{
	local work=$1 serial="file:$1/serial.log" code=0 waker
	[ -z "$shell" ] || serial=mon:stdio
	truncate -s "$out_size" "$work/out.tar"
	describe_machine "$work" "$serial" "$snapshot/disk.qcow2,snapshot=on"
	python3 "$here/machine.py" wake "$work/qmp" "$work/go" &
	waker=$!
	timeout --foreground --kill-after=10 "$limit" "${machine[@]}" -incoming "exec:cat '$snapshot/memory'" || code=$?
	kill "$waker" 2>/dev/null || true
	wait "$waker" || true
	[ -z "$shell" ] || return 0
	[ "$code" != 124 ] || return 124
	# Only the guest's last word counts: a guest that died without it has failed.
	code=$(tr -d '\r' <"$work/serial.log" | sed -n 's/^vm: exit \([0-9]*\) after .*/\1/p' | tail -n1)
	return "${code:-125}"
}
