#!/bin/sh
# wait-for-vram.sh NEED_MIB SECONDS: wait until one card has NEED_MIB of free memory; fail when it never has.
# A server that starts while the one before it still lets go of its memory dies in the middle of loading.
# Without nvidia-smi there is nothing to wait for.
set -u
need=$1
left=$2
command -v nvidia-smi >/dev/null 2>&1 || exit 0
while :; do
    free=$(nvidia-smi --query-gpu=memory.free --format=csv,noheader,nounits 2>/dev/null | sort -n | tail -n 1 | tr -dc 0-9)
    [ -n "$free" ] || exit 0 # the driver does not say: the server will see for itself
    [ "$free" -ge "$need" ] && exit 0
    [ "$left" -gt 0 ] || break
    left=$((left - 1))
    sleep 1
done
echo "Only $free MiB of GPU memory are free, $need are needed. nvidia-smi shows who holds the rest." >&2
exit 1
