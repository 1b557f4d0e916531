import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { obstacleToNodePrograms } from '../control-plane/node-programs.ts';
import { obstacleToImages } from './images.ts';
import { runcPath } from './node-files.ts';

/** Debian's packages with what a node needs besides Kubernetes and containerd, by a file that each has. */
const PACKAGES: Readonly<Record<string, string>> = {
  buildah: '/usr/bin/buildah',
  'busybox-static': '/bin/busybox',
  conntrack: '/usr/sbin/conntrack',
  curl: '/usr/bin/curl',
  'containernetworking-plugins': '/usr/lib/cni/bridge',
  dbus: '/usr/bin/dbus-daemon',
  iproute2: '/sbin/ip',
  iptables: '/usr/sbin/iptables',
  nftables: '/usr/sbin/nft',
  'python3-dbus': '/usr/lib/python3/dist-packages/dbus/__init__.py',
  'python3-gi': '/usr/lib/python3/dist-packages/gi/__init__.py',
  runc: runcPath(),
};

/** What is to be installed before a real node can run. */
export function missingPackages(): string[] {
  return Object.entries(PACKAGES).flatMap(([name, file]) => (existsSync(file) ? [] : [name]));
}

/** Why this machine cannot have nodes of its own, whatever is installed on it; `undefined` if it can. */
export function obstacleToNamespaces(): string | undefined {
  if (process.platform !== 'linux') return 'a real node needs Linux';
  if (process.getuid?.() !== 0) return 'a real node needs root';
  const trial = spawnSync('unshare', [
    ...['--net', '--mount', '--pid', '--uts', '--fork', '--mount-proc', '--kill-child'],
    'true',
  ]);
  if (trial.status !== 0) return 'a real node needs network, mount and process namespaces of its own';
  if (!existsSync('/sys/fs/cgroup/cgroup.procs') && !existsSync('/sys/fs/cgroup/memory/cgroup.procs')) {
    return 'a real node needs cgroups at /sys/fs/cgroup';
  }
  return undefined;
}

/** Why no real node can run here; `undefined` when one can. */
export function obstacleToRealNode(): string | undefined {
  const [missing] = missingPackages();
  return (
    obstacleToNamespaces() ?? (missing && `there is no ${missing}`) ?? obstacleToNodePrograms() ?? obstacleToImages()
  );
}
