import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { waitUntil } from '../control-plane/wait-until.ts';
import { nodeAddress, nodeName } from './addresses.ts';
import { makeCgroup, removeCgroup } from './cgroups.ts';
import { makeNamespaces, type Namespaces } from './namespaces.ts';
import { connectNode, disconnectNode, setLink } from './network.ts';
import {
  CNI_ASIDE,
  CNI_FILE,
  CNI_FOLDER,
  cniConfig,
  containerdConfig,
  foldersIn,
  type KubeletFiles,
  kubeletConfig,
  type ProxyMode,
  proxyConfig,
} from './node-files.ts';
import { type Service, startService } from './service.ts';

const SOCKET_TIMEOUT_MS = 30_000;
/** More than the kubelet's grace period. */
const SHUTDOWN_TIMEOUT_MS = 60_000;
/** What all nodes would share in one file system: network namespaces of pods, locks, sockets of plugins, links to logs. */
const OWN_FOLDERS = ['/run', '/var/lib', '/var/log'];
/** Where the kubelet reads `status.nodeInfo.bootID` (cAdvisor's flag `boot_id_file`). */
const BOOT_ID = '/proc/sys/kernel/random/boot_id';

/** A node with a kernel that it shares with this machine, and all else its own. */
export interface RealNode {
  readonly name: string;
  readonly number: number;
  /** What it runs, by name: its own programs, and on the first node those of the control plane. */
  service(name: string): Service;
  /** Runs a command on the node, to its end. */
  run(command: readonly string[]): Promise<string>;
  /** As when the plug is pulled: all of its processes end at once, and what was in memory is gone. Without power, nothing happens. */
  cutPower(): Promise<void>;
  /** Starts what the node runs. Whether it gets Ready is seen in its Node. */
  powerOn(): Promise<void>;
  /**
   * Tells the kubelet that the machine is about to shut down, and resolves when the kubelet has nothing against it any more: its pods
   * have ended. Power is still on then.
   */
  announceShutdown(): Promise<void>;
  /** Uses up so much of the disk, in MiB, of which {@link NodeOptions.diskMiB} says how large it is; 0 frees it again. */
  fillDisk(mebibytes: number): Promise<void>;
  /** Takes it off the wire, or puts it back. */
  setLink(state: 'up' | 'down'): Promise<void>;
  /** Has all packets lost that arrive at it, or that it sends. Gives what ends that. */
  losePackets(direction: 'in' | 'out'): Promise<() => Promise<void>>;
  /**
   * Puts the network's configuration where the runtime looks for it, or aside, as before a CNI is installed: without it the node is not
   * ready, and no pod gets a network; those that have one keep it. Power puts it there.
   */
  setCni(state: 'present' | 'aside'): Promise<void>;
  /** Gives the kubelet the manifest of a static pod, which it runs without asking anybody. */
  addStaticPod(manifest: StaticPod): void;
  /** Runs a stand-in for a CSI driver of this name, until the power is cut. It registers with the kubelet. */
  startCsiDriver(driver: string): Service;
  /**
   * Runs a stand-in for a device plugin of this resource, until the power is cut. It registers with the kubelet, and its one device is healthy
   * after SIGUSR2.
   */
  startDevicePlugin(resource: string): Service;
}

export interface StaticPod {
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly [field: string]: unknown;
}

/** A second name of an image. */
export interface ImageAlias {
  readonly of: string;
  readonly name: string;
}

export interface NodeOptions {
  readonly number: number;
  /** How many there are. */
  readonly nodes: number;
  readonly lab: Namespaces;
  /** How large the disk is on which the kubelet keeps its pods. */
  readonly diskMiB: number;
  /** A folder of its own, for what outlives a power cut, and one for logs. */
  readonly folder: string;
  readonly logFile: (name: string) => string;
  /** The path of a program. */
  readonly program: (name: string) => string;
  readonly cgroup: string;
  readonly kubelet: Omit<KubeletFiles, 'cgroup'>;
  readonly kubeletKubeconfig: string;
  /** Fields of the kubelet's configuration that differ. */
  readonly kubeletConfig: Readonly<Record<string, unknown>>;
  readonly proxyKubeconfig: string;
  readonly proxyMode: ProxyMode;
  /** Archives of images. */
  readonly images: readonly string[];
  readonly imageAliases: readonly ImageAlias[];
  /** What it runs before the rest: programs with their arguments, by name. */
  readonly controlPlane: Readonly<Record<string, readonly [string, ...string[]]>>;
}

/** A node that has no power yet. */
export function createRealNode(options: NodeOptions): RealNode {
  const { number, nodes, lab, folder, logFile, program, cgroup } = options;
  const name = nodeName(number);
  const folders = foldersIn(folder);
  const services = new Map<string, Service>();
  let namespaces: Namespaces | undefined;
  const isOn = () => {
    if (!namespaces) throw new Error(`node ${name} has no power`);
    return namespaces;
  };

  return {
    name,
    number,
    service(program) {
      const found = services.get(program);
      if (!found) throw new Error(`node ${name} runs no ${program}`);
      return found;
    },
    run: (command) => isOn().run(command),
    async cutPower() {
      const last = namespaces;
      if (!last) return;
      namespaces = undefined;
      for (const service of services.values()) service.abandon();
      services.clear();
      // A kernel whose processes end says goodbye on their connections. One that was still to be connected has no cable.
      await disconnectNode(lab, number).catch(() => {});
      await last.end();
      await removeCgroup(cgroup);
      rmSync(join(folders.containerd, 'state'), { recursive: true, force: true });
      rmSync(folders.socket, { force: true });
    },
    async powerOn() {
      if (namespaces) throw new Error(`node ${name} has power`);
      // In the lab, so that it outlives a power cut.
      if (!existsSync(folders.kubelet)) {
        mkdirSync(folders.kubelet);
        await lab.run(['mount', '-t', 'tmpfs', '-o', `size=${options.diskMiB}m`, 'tmpfs', folders.kubelet]);
      }
      const made = await makeNamespaces(name, logFile(name), lab);
      namespaces = made;
      makeCgroup(cgroup);
      await made.run(['hostname', name]);
      // The kernel is that of this machine, and has not booted.
      const bootId = join(folder, 'boot-id');
      writeFileSync(bootId, `${randomUUID()}\n`);
      await made.run(['mount', '--bind', bootId, BOOT_ID]);
      for (const own of OWN_FOLDERS) await made.run(['mount', '-t', 'tmpfs', 'tmpfs', own]);
      await made.run(['mkdir', '-p', '/run/netns', '/run/lock', '/run/dbus']);
      await connectNode(lab, made, number, nodes);
      writeFiles();
      await made.run(['mkdir', CNI_FOLDER]);
      await made.run(['mount', '--bind', folders.cni, CNI_FOLDER]);
      start(made, 'bus', ['dbus-daemon', `--config-file=${join(import.meta.dirname, 'bus.conf')}`, '--nofork']);
      start(made, 'logind', ['/usr/bin/python3', join(import.meta.dirname, 'logind.py')]);
      for (const [service, [command, ...args]] of Object.entries(options.controlPlane)) {
        start(made, service, [program(command), ...args]);
      }
      start(made, 'containerd', [program('containerd'), '--config', join(folder, 'containerd.toml')]);
      await importImages(made);
      // A kubelet that finds no logind does without, for good.
      await waitUntil(() => (services.get('logind')?.log().includes('listening') ? true : undefined), {
        timeoutMs: SOCKET_TIMEOUT_MS,
        otherwise: () => `no logind on ${name}: ${services.get('logind')?.log()}`,
      });
      start(made, 'kubelet', [
        program('kubelet'),
        `--config=${join(folder, 'kubelet.json')}`,
        `--kubeconfig=${options.kubeletKubeconfig}`,
        `--hostname-override=${name}`,
        `--node-ip=${nodeAddress(number)}`,
        `--root-dir=${folders.kubelet}`,
        `--cert-dir=${join(folder, 'kubelet-pki')}`,
      ]);
      start(made, 'kube-proxy', [
        program('kube-proxy'),
        `--config=${join(folder, 'kube-proxy.json')}`,
        `--hostname-override=${name}`,
      ]);
    },
    async announceShutdown() {
      const logind = this.service('logind');
      const releases = () => logind.log().split('released').length - 1;
      const before = releases();
      logind.signal('SIGUSR1');
      await waitUntil(() => (releases() > before ? true : undefined), {
        timeoutMs: SHUTDOWN_TIMEOUT_MS,
        otherwise: () => `the kubelet of ${name} holds the shutdown up:\n${logind.log()}`,
      });
    },
    async fillDisk(mebibytes) {
      await isOn().run(['fallocate', '--length', `${Math.max(mebibytes, 1)}MiB`, join(folders.kubelet, 'filling')]);
      if (mebibytes === 0) await isOn().run(['rm', join(folders.kubelet, 'filling')]);
    },
    setLink: (state) => setLink(lab, number, state),
    async losePackets(direction) {
      const rule = { in: ['PREROUTING', '-i'], out: ['POSTROUTING', '-o'] }[direction];
      const change = (flag: '-I' | '-D') =>
        isOn().run(['iptables', '-w', '-t', 'mangle', flag, ...rule, 'eth0', '-j', 'DROP']);
      await change('-I');
      return async () => {
        await change('-D');
      };
    },
    async setCni(state) {
      const [from, to] = state === 'present' ? [CNI_ASIDE, CNI_FILE] : [CNI_FILE, CNI_ASIDE];
      await isOn().run(['mv', join(CNI_FOLDER, from), join(CNI_FOLDER, to)]);
    },
    addStaticPod(manifest) {
      writeFileSync(join(folder, 'manifests', `${manifest.metadata.name}.json`), JSON.stringify(manifest));
    },
    startCsiDriver(driver) {
      return startPlugin(driver, 'csi-driver-inside.ts', name);
    },
    startDevicePlugin(resource) {
      return startPlugin(resource, 'device-plugin-inside.ts');
    },
  };

  function start(made: Namespaces, service: string, command: readonly string[]): Service {
    const options = { name: service, command, logFile: logFile(`${name}-${service}`), env: pathTo(program) };
    const started = startService(made, options);
    services.set(service, started);
    return started;
  }

  function startPlugin(plugin: string, script: string, ...args: readonly string[]): Service {
    const command = [process.execPath, join(import.meta.dirname, script), plugin, folders.kubelet, ...args];
    return start(isOn(), plugin.replace('/', '_'), command);
  }

  function writeFiles(): void {
    for (const made of [folders.cni, join(folder, 'manifests')]) mkdirSync(made, { recursive: true });
    const files = { ...options.kubelet, cgroup };
    writeFileSync(join(folder, 'containerd.toml'), containerdConfig(folders));
    writeFileSync(join(folders.cni, CNI_FILE), cniConfig(folders, number));
    writeFileSync(join(folder, 'kubelet.json'), kubeletConfig(folders, number, files, options.kubeletConfig));
    writeFileSync(join(folder, 'kube-proxy.json'), proxyConfig(options.proxyMode, options.proxyKubeconfig));
  }

  async function importImages(made: Namespaces): Promise<void> {
    await waitUntil(() => (existsSync(folders.socket) ? true : undefined), {
      timeoutMs: SOCKET_TIMEOUT_MS,
      otherwise: () => `containerd of ${name} does not listen:\n${services.get('containerd')?.log()}`,
    });
    const note = join(folder, 'images');
    if (existsSync(note)) return;
    const ctr = [program('ctr'), '--address', folders.socket, '--namespace', 'k8s.io', 'images'];
    for (const archive of options.images) await made.run([...ctr, 'import', archive]);
    for (const { of, name } of options.imageAliases) await made.run([...ctr, 'tag', of, name]);
    writeFileSync(note, '');
  }
}

/** containerd starts its shim by name. */
function pathTo(program: (name: string) => string): Record<string, string> {
  return { PATH: `${join(program('containerd-shim-runc-v2'), '..')}:${process.env.PATH}` };
}
