#!/usr/bin/env bash
# Power cuts, simulated: 0 acknowledged writes may be lost.
#
#   tests/crash/powercut.sh [ROUNDS]      (10 rounds by default, about 1 s each)
#
# Two file systems, one in the other: the inner one holds the store, and its "disk" is an image file on the outer one.
# A flush (fsync, barrier) of the inner file system becomes an fsync of the image; what was written without a flush
# is in the page cache of the outer one, as in the volatile cache of a disk. After a random number of acknowledged
# writes the outer file system is shut down with EXT4_IOC_SHUTDOWN (flag NOLOGFLUSH), which passes nothing more to its
# device: from that moment on both are as after a power cut. Then both are mounted again, which replays the journals,
# and every acknowledged write is checked. Every second round continues with the store of the previous round.
#
# The control does the same with --no-sync until writes are lost: a simulation that cannot lose proves nothing.
#
# SEED=n plays other moments. Exit codes: 0 fine or skipped, 1 acknowledged writes lost, or the control lost none.
set -euo pipefail

rounds=${1:-10}
here=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
outer=$work/outer disk=$work/disk acks=$work/acks
image=$outer/image
burst_pid= outer_loop= loop=

skip() { echo "skipped: needs root and loop devices ($1)"; exit 0; }

unmount() {
    if mountpoint -q "$disk"; then umount "$disk"; fi
    if [ -n "$loop" ]; then losetup -d "$loop"; loop=; fi
    if mountpoint -q "$outer"; then umount "$outer"; fi
}

cleanup() {
    [ -z "$burst_pid" ] || kill -9 "$burst_pid" 2>/dev/null || true
    unmount 2>/dev/null || true
    [ -z "$outer_loop" ] || losetup -d "$outer_loop" 2>/dev/null || true
    rm -rf "$work"
}
trap cleanup EXIT

# ioctl(2) on the outer file system, by whichever interpreter is here.
power_cut() {
    if command -v python3 >/dev/null; then
        python3 -c 'import fcntl,os,struct,sys
fcntl.ioctl(os.open(sys.argv[1], os.O_RDONLY), 0x8004587D, struct.pack("I", 2))' "$outer/here"
    else
        perl -e 'open(my $f, "<", $ARGV[0]) or die; ioctl($f, 0x8004587D, my $flag = pack("L", 2)) or die "ioctl: $!"' "$outer/here"
    fi
}

# The image's blocks are written once, so that writing to it later changes no length and allocates nothing.
make_outer() {
    mkdir -p "$outer" "$disk"
    truncate -s 300M "$work/device"
    mkfs.ext4 -q -F "$work/device"
    outer_loop=$(losetup --show -f "$work/device")
    mount "$outer_loop" "$outer"
    touch "$outer/here"
    dd if=/dev/zero of="$image" bs=1M count=192 status=none conv=fsync
    sync -f "$outer/here"
}

make_disk() {
    unmount
    mount "$outer_loop" "$outer"
    mkfs.ext4 -q -F -E nodiscard "$image"
    sync -f "$outer/here"
    loop=$(losetup --show -f "$image")
    mount "$loop" "$disk"
    : >"$acks"
}

mount_again() {
    unmount
    mount "$outer_loop" "$outer"
    loop=$(losetup --show -f "$image")
    mount "$loop" "$disk"
}

# One burst and one cut; what was acknowledged is appended to $acks.
cut_in_burst() { # acknowledgements before the cut, further flags
    local after=$1 got=0
    shift
    rm -f "$work/pipe"
    mkfifo "$work/pipe"
    "$burst" "$disk/data" "$@" >"$work/pipe" 2>"$work/burst.err" &
    burst_pid=$!
    local line
    while IFS= read -r line; do
        printf '%s\n' "$line" >>"$acks"
        got=$((got + 1))
        if [ "$got" -eq "$after" ]; then power_cut; fi
        # Acknowledgements after the cut would be lies: they count, and would be found missing.
    done <"$work/pipe"
    wait "$burst_pid" 2>/dev/null || true
    burst_pid=
    if [ "$got" -lt "$after" ]; then cat "$work/burst.err" >&2; echo "the burst ended after $got writes" >&2; exit 1; fi
    mount_again
}

# Prints "checked N lost M" of the acknowledged writes so far.
judge() { "$burst" "$disk/data" --check "$acks" 2>>"$work/judge.err" || [ $? -eq 2 ]; }

[ "$(id -u)" -eq 0 ] || skip "not root"
for tool in losetup mkfs.ext4 mountpoint; do command -v $tool >/dev/null || skip "no $tool"; done
command -v python3 >/dev/null || command -v perl >/dev/null || skip "neither python3 nor perl for the ioctl"
make_outer 2>"$work/why" || skip "$(tr '\n' ' ' <"$work/why")"
power_cut 2>/dev/null || skip "the kernel cannot shut a file system down"
unmount

cargo build --quiet --manifest-path "$here/Cargo.toml" -p muster-store --bin store-burst
burst=$(cargo metadata --manifest-path "$here/Cargo.toml" --format-version 1 --no-deps |
    grep -o '"target_directory":"[^"]*"' | cut -d'"' -f4)/debug/store-burst

RANDOM=${SEED:-7}
total=0 lost=0
for round in $(seq "$rounds"); do
    if [ $((round % 2)) -eq 1 ]; then make_disk; fi
    cut_in_burst $((1 + RANDOM % 400))
    verdict=$(judge)
    echo "power cut $round: $verdict"
    total=$((total + $(wc -l <"$acks"))) lost=$((lost + ${verdict##* }))
done

control_lost=0 controls=0
while [ "$control_lost" -eq 0 ] && [ "$controls" -lt 20 ]; do
    make_disk
    cut_in_burst $((1 + RANDOM % 400)) --no-sync
    verdict=$(judge)
    controls=$((controls + 1)) control_lost=${verdict##* }
    echo "control $controls, no sync: $verdict"
done

echo "$rounds power cuts: $total acknowledged writes looked for, $lost lost; $controls controls without sync: $control_lost lost"
[ "$lost" -eq 0 ] || { cat "$work/judge.err" >&2; exit 1; }
[ "$control_lost" -gt 0 ] || { echo "the control lost nothing: the simulation proves nothing" >&2; exit 1; }
