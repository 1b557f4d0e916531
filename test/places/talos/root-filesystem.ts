import { chmodSync, copyFileSync, linkSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { cacheFolder } from '../../control-plane/go-modules.ts';
import { CONTAINERD } from '../../control-plane/node-programs.ts';
import { withLibraries } from '../../real-node/image-of-files.ts';
import { runcPath } from '../../real-node/node-files.ts';
import { TALOS_VERSION, talosFile } from './programs.ts';

/** Where Debian's package has the plugins of CNI. */
const CNI_PLUGINS = '/usr/lib/cni';

/*
 * What Talos expects to find, as the stages `rootfs-base` and `rootfs` of its Dockerfile make it. A container needs no kernel, no udev,
 * and no tools for disks.
 */
const FOLDERS = [
  ...['boot/EFI', 'dev', 'etc/cni/net.d', 'etc/containerd', 'etc/cri/conf.d/hosts', 'etc/iscsi'],
  ...['etc/kubernetes/manifests', 'etc/lvm', 'etc/nvme', 'etc/selinux/targeted/contexts/files', 'etc/ssl/certs'],
  ...['mnt', 'opt/cni/bin', 'opt/containerd/bin', 'opt/containerd/lib', 'proc', 'root', 'run/lock', 'sys'],
  ...['system/state', 'tmp', 'usr/bin', 'usr/etc', 'usr/lib/firmware', 'usr/lib/modules', 'usr/libexec/kubernetes'],
  ...[
    'usr/local/lib/kubelet/credentialproviders',
    'usr/local/share',
    'usr/share/spdx',
    'usr/share/zoneinfo/Etc',
    'usr/src',
  ],
  ...['var/log', 'var/spool', 'var/tmp', '.extra'],
];
const LINKS: Readonly<Record<string, string>> = {
  bin: 'usr/bin',
  sbin: 'usr/bin',
  lib: 'usr/lib',
  lib64: 'usr/lib',
  'usr/sbin': 'bin',
  'usr/lib64': 'lib',
  'var/run': '../run',
  'var/lock': '../run/lock',
  'etc/localtime': '/usr/share/zoneinfo/Etc/UTC',
  'etc/pki': '/etc/ssl',
  'usr/share/ca-certificates': '/etc/ssl',
};
/** Talos mounts its own over these: the root is read-only. */
const EMPTY_FILES = [
  ...['extensions.yaml', 'hostname', 'hosts', 'machine-id', 'resolv.conf', 'iscsi/initiatorname.iscsi'],
  ...['nvme/hostid', 'nvme/hostnqn', 'cri/conf.d/cri.toml', 'cri/conf.d/01-registries.part'],
  ...['cri/conf.d/20-customization.part', 'cri/conf.d/base-spec.json', 'ssl/certs/ca-certificates.crt'],
  'selinux/targeted/contexts/files/file_contexts',
];
const TALOS_FILES: Readonly<Record<string, string>> = {
  UTC: 'usr/share/zoneinfo/Etc/UTC',
  'nfsmount.conf': 'etc/nfsmount.conf',
  'containerd.toml': 'etc/containerd/config.toml',
  'cri-containerd.toml': 'etc/cri/containerd.toml',
  'cri-plugin.part': 'etc/cri/conf.d/00-base.part',
  'lvm.conf': 'etc/lvm/lvm.conf',
};

/**
 * Copies a program of this machine, and its libraries: to where its loader is, and to where the loader looks for the others. It knows
 * folders with the architecture's name.
 */
export function copyWithLibraries(program: string, root: string, place: string): void {
  const [, ...libraries] = withLibraries(program);
  const copies = libraries.flatMap((library) => [
    [library, join('usr/lib', basename(library))] as const,
    [library, library.replace(/^\/(?:usr\/)?lib(?:64)?\//, 'usr/lib/')] as const,
  ]);
  for (const [from, to] of [[program, place] as const, ...copies]) {
    mkdirSync(join(root, dirname(to)), { recursive: true });
    copyFileSync(from, join(root, to));
  }
}

/** Makes the root file system of Talos in a folder, which all machines share. */
export function makeRootFilesystem(root: string): void {
  const at = (path: string) => join(root, path);
  for (const folder of FOLDERS) mkdirSync(at(folder), { recursive: true });
  for (const folder of ['tmp', 'var/tmp']) chmodSync(at(folder), 0o1777);
  for (const [path, target] of Object.entries(LINKS)) symlinkSync(target, at(path));
  for (const file of EMPTY_FILES) writeFileSync(at(`etc/${file}`), '');
  for (const [name, path] of Object.entries(TALOS_FILES)) copyFileSync(talosFile(name), at(path));
  const release = { NAME: 'Talos', ID: 'talos', VERSION_ID: `v${TALOS_VERSION}` };
  writeFileSync(
    at('etc/os-release'),
    Object.entries(release)
      .map(([key, value]) => `${key}="${value}"\n`)
      .join(''),
  );
  // By this, Talos knows that it is in a container.
  writeFileSync(at('usr/etc/in-container'), 'true\n');

  copyFileSync(talosFile('machined'), at('usr/bin/init'));
  for (const name of ['poweroff', 'shutdown', 'dashboard']) linkSync(at('usr/bin/init'), at(`usr/bin/${name}`));
  for (const name of ['containerd', 'containerd-shim-runc-v2']) {
    copyFileSync(join(cacheFolder(CONTAINERD), name), at(`usr/bin/${name}`));
  }
  for (const name of readdirSync(CNI_PLUGINS)) copyFileSync(join(CNI_PLUGINS, name), at(`opt/cni/bin/${name}`));
  copyWithLibraries(runcPath(), root, 'usr/bin/runc');
}
