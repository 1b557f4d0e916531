import { copyFileSync, globSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { imageOfFiles, withLibraries } from '../../real-node/image-of-files.ts';
import { BUSYBOX, provideImages } from '../../real-node/images.ts';
import {
  COREDNS_VERSION,
  ETCD_VERSION,
  FLANNEL_VERSION,
  KUBERNETES_VERSION,
  NEXT_VERSION,
  nextProgramPath,
  programPath,
} from './programs.ts';

const REGISTRY = 'registry.k8s.io';
/** As kubeadm's `etcd.local.imageTag` has it. */
export const ETCD_TAG = `${ETCD_VERSION.slice(1)}-0`;
/** That of kubeadm 1.36. */
const PAUSE = `${REGISTRY}/pause:3.10.2`;
/** That of the chart of Flannel 0.28.10. */
const FLANNEL_CNI = 'ghcr.io/flannel-io/flannel-cni-plugin:v1.9.1-flannel3';

/**
 * Archives of the images that the nodes of a cluster of kubeadm's pull, under their names, and of taintkeeper's own.
 *
 * @throws Error when an image does not build
 */
export function provideKubeadmImages(report: (line: string) => void): string[] {
  return [
    ...provideImages(report),
    ...kubernetesImages(KUBERNETES_VERSION, programPath),
    imageOf(`${REGISTRY}/etcd:${ETCD_TAG}`, { 'usr/local/bin/etcd': programPath('etcd') }),
    imageOf(
      `${REGISTRY}/coredns/coredns:${COREDNS_VERSION}`,
      { coredns: programPath('coredns') },
      { start: '/coredns' },
    ),
    pauseImage(),
    networkImage(`ghcr.io/flannel-io/flannel:${FLANNEL_VERSION}`, {
      'opt/bin/flanneld': programPath('flanneld'),
      'opt/bin/install-conf': programPath('install-conf'),
    }),
    // The chart's init container calls cp.
    imageOf(FLANNEL_CNI, { flannel: programPath('flannel-cni') }, { tools: ['cp'] }),
  ];
}

/** Archives of the images that `kubeadm upgrade` brings. @throws Error when an image does not build */
export function provideNextImages(): string[] {
  return kubernetesImages(NEXT_VERSION, nextProgramPath);
}

function kubernetesImages(version: string, program: (name: string) => string): string[] {
  const components = ['kube-apiserver', 'kube-controller-manager', 'kube-scheduler'];
  return [
    ...components.map((name) =>
      imageOf(`${REGISTRY}/${name}:${version}`, { [`usr/local/bin/${name}`]: program(name) }),
    ),
    networkImage(`${REGISTRY}/kube-proxy:${version}`, { 'usr/local/bin/kube-proxy': program('kube-proxy') }),
  ];
}

/** A job of `kubeadm upgrade` runs it with `-v`, and waits for its end. */
function pauseImage(): string {
  return imageOf(
    PAUSE,
    {},
    { tools: ['sh', 'sleep'], script: '#!/bin/sh\n[ "$1" = -v ] || exec sleep infinity\n', start: '/start' },
  );
}

interface ImageContents {
  /** Names under which it has BusyBox. */
  readonly tools?: readonly string[];
  readonly links?: Readonly<Record<string, string>>;
  /** The text of `/start`. */
  readonly script?: string;
  readonly start?: string;
}

/** @param files of this machine, by their place in the image */
function imageOf(name: string, files: Readonly<Record<string, string>>, contents: ImageContents = {}): string {
  const { tools = [], links = {}, script, start } = contents;
  const copies = { ...files, ...(tools.length > 0 ? { 'bin/busybox': BUSYBOX } : {}) };
  return imageOfFiles(name, [import.meta.filename, ...Object.values(copies)], (root) => {
    const place = (path: string) => {
      const target = join(root, path);
      mkdirSync(dirname(target), { recursive: true });
      return target;
    };
    for (const [path, file] of Object.entries(copies)) copyFileSync(file, place(path));
    for (const tool of tools) symlinkSync('busybox', place(`bin/${tool}`));
    for (const [path, target] of Object.entries(links)) symlinkSync(target, place(path));
    if (script !== undefined) writeFileSync(place('start'), script, { mode: 0o755 });
    mkdirSync(join(root, 'tmp'));
    writeFileSync(place('etc/passwd'), 'root:x:0:0::/:/bin/sh\n');
    writeFileSync(place('etc/group'), 'root:x:0:\n');
    const environment = 'ENV PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\n';
    return start === undefined ? environment : `${environment}ENTRYPOINT ["${start}"]\n`;
  });
}

const IPTABLES = '/usr/sbin/xtables-nft-multi';

/** Programs that call iptables: with this machine's, whose extensions are libraries of their own. */
function networkImage(name: string, programs: Readonly<Record<string, string>>): string {
  const called = [IPTABLES, '/usr/sbin/nft', '/sbin/ip', ...globSync('/usr/lib/*/xtables/*.so')];
  const files = called.flatMap(withLibraries).map((file) => [file.slice(1), file]);
  const commands = ['iptables', 'ip6tables'].flatMap((command) => [command, `${command}-save`, `${command}-restore`]);
  return imageOf(name, { ...programs, ...Object.fromEntries(files) } as Record<string, string>, {
    tools: ['sh', 'cp'],
    links: Object.fromEntries(commands.map((command) => [`usr/sbin/${command}`, 'xtables-nft-multi'])),
  });
}
