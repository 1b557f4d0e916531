import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { cacheFolder } from '../../control-plane/go-modules.ts';
import { KUBERNETES } from '../../control-plane/kubernetes.ts';
import { NODE_PROGRAMS } from '../../control-plane/node-programs.ts';
import { imageOfFiles } from '../../real-node/image-of-files.ts';
import { BUSYBOX } from '../../real-node/images.ts';
import { copyWithLibraries } from './root-filesystem.ts';

const PASSWD = 'root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n';
const GROUP = 'root:x:0:\nnogroup:x:65534:\n';

/** What the kubelet calls besides: from BusyBox, and of this machine. */
const KUBELET_APPLETS = ['du', 'find', 'nice', 'sh'];
const KUBELET_TOOLS = ['/usr/bin/mount', '/usr/bin/umount'];

/** The program of each image that Talos pulls, by the last part of the image's name. */
const PROGRAMS: Readonly<Record<string, string>> = {
  etcd: join(cacheFolder(KUBERNETES), 'etcd'),
  'kube-apiserver': join(cacheFolder(KUBERNETES), 'kube-apiserver'),
  'kube-controller-manager': join(cacheFolder(KUBERNETES), 'kube-controller-manager'),
  'kube-scheduler': join(cacheFolder(KUBERNETES), 'kube-scheduler'),
  kubelet: join(cacheFolder(NODE_PROGRAMS), 'kubelet'),
};

/**
 * The images that Talos pulls, of the programs that other tests build. Each is built once.
 *
 * @param folder gets a folder for each, in OCI's layout, named as the last part of the image's name
 * @throws Error when an image does not build
 */
export function provideTalosImages(folder: string): void {
  for (const [name, program] of Object.entries(PROGRAMS)) unpack(folder, name, programImage(name, program));
  unpack(folder, 'pause', pauseImage());
}

function programImage(name: string, program: string): string {
  const more = name === 'kubelet' ? [BUSYBOX, ...KUBELET_TOOLS] : [];
  return imageOfFiles(`localhost/talos-${name}:1`, [import.meta.filename, program, ...more], (root) => {
    addFolders(root);
    copyFileSync(program, join(root, 'usr/local/bin', name));
    if (name === 'kubelet') {
      copyFileSync(BUSYBOX, join(root, 'usr/bin/busybox'));
      for (const applet of KUBELET_APPLETS) symlinkSync('busybox', join(root, 'usr/bin', applet));
      for (const tool of KUBELET_TOOLS) copyWithLibraries(tool, root, tool.slice(1));
    }
    return `ENTRYPOINT ["/usr/local/bin/${name}"]\n`;
  });
}

/** It waits as a pod's sandbox, and is a shell for the pods of tests. */
function pauseImage(): string {
  return imageOfFiles('localhost/talos-pause:1', [import.meta.filename, BUSYBOX], (root) => {
    addFolders(root);
    copyFileSync(BUSYBOX, join(root, 'usr/bin/busybox'));
    return 'ENTRYPOINT ["/usr/bin/busybox"]\nCMD ["sleep", "1000000"]\n';
  });
}

function addFolders(root: string): void {
  const folders = ['dev', 'etc/kubernetes', 'mnt', 'opt', 'proc', 'root', 'run', 'sys', 'tmp', 'var/lib', 'var/log'];
  for (const folder of [...folders, 'usr/bin', 'usr/lib/modules', 'usr/libexec/kubernetes', 'usr/local/bin']) {
    mkdirSync(join(root, folder), { recursive: true });
  }
  for (const [link, target] of Object.entries({ bin: 'usr/bin', sbin: 'usr/bin', lib: 'usr/lib', lib64: 'usr/lib' })) {
    symlinkSync(target, join(root, link));
  }
  symlinkSync('/run', join(root, 'var/run'));
  for (const [file, content] of Object.entries({ passwd: PASSWD, group: GROUP })) {
    writeFileSync(join(root, 'etc', file), content);
  }
}

function unpack(folder: string, name: string, archive: string): void {
  const layout = join(folder, name);
  mkdirSync(dirname(layout), { recursive: true });
  mkdirSync(layout);
  execFileSync('tar', ['--extract', `--file=${archive}`, `--directory=${layout}`]);
}
