#!/bin/bash
# boot.sh NAME ADDRESS ROOT FOLDER CGROUP: the first process of a machine's namespaces (see machine.ts). It mounts what a container runtime
# mounts for the image of Talos, and becomes Talos. FOLDER has the volumes and configuration.yaml, which is empty for a machine in maintenance
# mode, and gets a file "connected" when the network is there.
set -eu
name=$1 address=$2 image=$3 folder=$4 cgroup=$5

until [ -e "$folder/connected" ]; do sleep 0.05; done
if [ "${6:-}" != joined ]; then
  for hierarchy in /sys/fs/cgroup /sys/fs/cgroup/*; do
    if [ -e "$hierarchy/$cgroup/cgroup.procs" ]; then echo 0 > "$hierarchy/$cgroup/cgroup.procs"; fi
  done
  exec unshare --cgroup --ipc bash "$0" "$@" joined
fi

root=$folder/root
mkdir -p "$root"
mount --bind "$image" "$root"

mkdir -p "$folder/etc"
echo "$name" > "$folder/etc/hostname"
printf '127.0.0.1 localhost\n%s %s\n' "$address" "$name" > "$folder/etc/hosts"
echo 'nameserver 127.0.0.1' > "$folder/etc/resolv.conf"
for file in hostname hosts resolv.conf; do mount --bind "$folder/etc/$file" "$root/etc/$file"; done

mount -t proc proc "$root/proc"
mount -t sysfs sysfs "$root/sys"
mount -t tmpfs -o mode=755 tmpfs "$root/dev"
while read -r device major minor; do mknod -m 666 "$root/dev/$device" c "$major" "$minor"; done <<'DEVICES'
null 1 3
zero 1 5
full 1 7
random 1 8
urandom 1 9
kmsg 1 11
tty 5 0
fuse 10 229
DEVICES
mkdir "$root/dev/pts" "$root/dev/shm" "$root/dev/mqueue"
mount -t devpts -o newinstance,ptmxmode=0666,mode=0620 devpts "$root/dev/pts"
mount -t tmpfs shm "$root/dev/shm"
mount -t mqueue mqueue "$root/dev/mqueue"
ln -s pts/ptmx "$root/dev/ptmx"
ln -s /proc/self/fd "$root/dev/fd"
for number in 0:stdin 1:stdout 2:stderr; do ln -s "/proc/self/fd/${number%:*}" "$root/dev/${number#*:}"; done
: > "$root/dev/console"

if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
  mount -t cgroup2 cgroup "$root/sys/fs/cgroup"
else
  mount -t tmpfs -o mode=755 tmpfs "$root/sys/fs/cgroup"
  for controller in blkio cpu cpuacct cpuset devices freezer memory pids; do
    mkdir "$root/sys/fs/cgroup/$controller"
    mount -t cgroup -o "$controller" cgroup "$root/sys/fs/cgroup/$controller"
  done
  mkdir "$root/sys/fs/cgroup/systemd"
  mount -t cgroup -o none,name=systemd cgroup "$root/sys/fs/cgroup/systemd"
fi

for place in run system tmp; do mount -t tmpfs tmpfs "$root/$place"; done
mkdir -p "$root/system/state"
for volume in system/state var etc/cni etc/kubernetes usr/libexec/kubernetes opt; do
  mkdir -p "$folder/volumes/$volume"
  # As Docker does: a new volume has what the image has there.
  cp --archive --no-clobber "$root/$volume/." "$folder/volumes/$volume/"
  mount --bind "$folder/volumes/$volume" "$root/$volume"
done
hostname "$name"
configuration=$(base64 --wrap=0 "$folder/configuration.yaml")

# The settings of this machine's kernel are not Talos' to change. It writes them all the same: into files. Those of the network are of its
# own namespace.
mount --bind "$root/proc/sys" "$root/proc/sys"
mount -o remount,bind,ro "$root/proc/sys"
mount --bind "$root/proc/sys/net" "$root/proc/sys/net"
mount -o remount,bind,rw "$root/proc/sys/net"
mkdir -p "$folder/settings"
for setting in fs/aio-max-nr fs/inotify/max_user_instances kernel/panic kernel/pid_max vm/overcommit_memory; do
  cat "$root/proc/sys/$setting" > "$folder/settings/${setting//\//.}"
  mount --bind "$folder/settings/${setting//\//.}" "$root/proc/sys/$setting"
done

mount -o remount,bind,ro "$root"
# Talos' root has no shell: a static one of the old root becomes Talos.
cd "$root"
pivot_root . mnt
cd /
exec /mnt/bin/busybox env -i PATH=/sbin:/bin PLATFORM=container TALOSSKU=2CPU-2048RAM USERDATA="$configuration" \
  /mnt/bin/busybox sh -c '/mnt/bin/busybox umount -l /mnt; exec /sbin/init'
