import { existsSync, globSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { lastLines } from '../../control-plane/process.ts';
import { runTool, type ToolResult } from '../../control-plane/run-tool.ts';
import { waitUntil } from '../../control-plane/wait-until.ts';
import { BRIDGE_ADDRESS, nodeAddress } from '../../real-node/addresses.ts';
import { makeCgroup, removeCgroup } from '../../real-node/cgroups.ts';
import { makeNamespaces, type Namespaces } from '../../real-node/namespaces.ts';
import { disconnectNode, plugIn } from '../../real-node/network.ts';
import { containerdConfig } from '../../real-node/node-files.ts';
import { type Service, startService } from '../../real-node/service.ts';
import { type Systemctl, serveSystemctl } from './systemctl.ts';

const SOCKET_TIMEOUT_MS = 30_000;
const COMMAND_TIMEOUT_MS = 60_000;
const LOG_LINES = 25;
/** Where kubeadm and the kubelet look for containerd by themselves. */
const CONTAINERD = { containerd: '/var/lib/containerd', socket: '/run/containerd/containerd.sock' };
const GATEWAY = BRIDGE_ADDRESS.replace(/\/.*/, '');
const PATHS = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin'];

/** The kubelet's unit, as the packages of Kubernetes have it: kubeadm writes the files that it reads. */
const KUBELET = `
[ ! -f /var/lib/kubelet/kubeadm-flags.env ] || . /var/lib/kubelet/kubeadm-flags.env
exec kubelet --bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf --kubeconfig=/etc/kubernetes/kubelet.conf \\
  --config=/var/lib/kubelet/config.yaml $KUBELET_KUBEADM_ARGS
`;

export interface CommandOptions {
  readonly input?: string;
  /** 60 s unless said otherwise. */
  readonly timeoutMs?: number;
}

/** A machine as somebody has prepared it for kubeadm: containerd, the kubelet's unit, images, and a file system of its own where nodes write. */
export interface Machine {
  readonly name: string;
  readonly number: number;
  readonly address: string;
  /** Below which the kubelet makes those of its pods. */
  readonly cgroup: string;
  /** Runs a command to its end. A failure is a result. */
  exec(command: readonly string[], options?: CommandOptions): Promise<ToolResult>;
  /** Runs a command and returns what it printed. @throws Error with what it printed on stderr when it fails */
  run(command: readonly string[], options?: CommandOptions): Promise<string>;
  /** Writes a file, and the folders above it. */
  write(path: string, content: string): Promise<void>;
  /** Puts programs into its PATH, in the place of those that it has under these names. */
  install(programs: Readonly<Record<string, string>>): void;
  loadImages(archives: readonly string[]): Promise<void>;
  /** All of its processes end at once, and what was in memory is lost. Without power, nothing happens. */
  cutPower(): Promise<void>;
  /** Starts containerd, and the kubelet if it is enabled. */
  powerOn(): Promise<void>;
  /** The end of the log of a unit, or of each container of the pods whose name begins so. */
  log(component: string): string;
}

export interface MachineOptions {
  readonly name: string;
  readonly number: number;
  readonly lab: Namespaces;
  /** A folder of its own, for what outlives a power cut. */
  readonly folder: string;
  readonly logFile: (name: string) => string;
  readonly cgroup: string;
  /** The names of all machines, by address. */
  readonly hosts: Readonly<Record<string, string>>;
  /** The programs in its PATH, by name. */
  readonly programs: Readonly<Record<string, string>>;
}

/** A machine that has no power yet. */
export function createMachine(options: MachineOptions): Machine {
  const { name, number, lab, folder, logFile, cgroup } = options;
  const address = nodeAddress(number);
  const programs = join(folder, 'bin');
  mkdirSync(programs, { recursive: true });
  install(options.programs);
  const units = new Map<string, Service>();
  let namespaces: Namespaces | undefined;
  let systemctl: Systemctl | undefined;
  const isOn = () => {
    if (!namespaces) throw new Error(`machine ${name} has no power`);
    return namespaces;
  };
  const environment = { PATH: [programs, ...PATHS].join(':'), HOME: '/root', LANG: 'C.UTF-8' };

  const exec: Machine['exec'] = async (command, { input, timeoutMs = COMMAND_TIMEOUT_MS } = {}) => {
    const [program, ...args] = isOn().entering(command);
    const env = { ...environment, KUBECONFIG: '/etc/kubernetes/admin.conf' };
    return runTool(program, args, { env, timeoutMs, ...(input === undefined ? {} : { input }) });
  };
  const run: Machine['run'] = async (command, commandOptions) => {
    const { code, stdout, stderr } = await exec(command, commandOptions);
    if (code !== 0) throw new Error(`${name}: ${command.join(' ')} ended with ${code}: ${stderr}${stdout}`);
    return stdout;
  };

  return {
    name,
    number,
    address,
    cgroup,
    exec,
    run,
    install,
    async loadImages(archives) {
      for (const archive of archives) await run(['ctr', '--namespace', 'k8s.io', 'images', 'import', archive]);
    },
    async write(path, content) {
      await run(['bash', '-ec', 'mkdir -p "$1" && cat > "$2"', '-', dirname(path), path], { input: content });
    },
    async cutPower() {
      const last = namespaces;
      if (!last) return;
      namespaces = undefined;
      for (const service of units.values()) service.abandon();
      units.clear();
      await systemctl?.close();
      // A kernel whose processes end closes their connections, which a machine without power cannot do.
      await disconnectNode(lab, number).catch(() => {});
      await last.end();
      await removeCgroup(cgroup);
      rmSync(join(folder, CONTAINERD.containerd, 'state'), { recursive: true, force: true });
    },
    async powerOn() {
      if (namespaces) throw new Error(`machine ${name} has power`);
      const made = await makeNamespaces(name, logFile(name), lab);
      namespaces = made;
      makeCgroup(cgroup);
      await run(['bash', '-euc', MOUNTS, '-', folder]);
      await run(['bash', '-euc', IDENTITY, '-', name, `${number}`.padStart(32, '0'), hostsFile(options.hosts)]);
      await plugIn(lab, made, number);
      await run(['bash', '-euc', NETWORK, '-', GATEWAY]);
      const config = join(folder, 'containerd.toml');
      const cni = { plugins: '/opt/cni/bin', configuration: '/etc/cni/net.d' };
      writeFileSync(config, containerdConfig(CONTAINERD, cni));
      systemctl = await serveSystemctl(join(folder, 'systemctl.sock'), {
        containerd: () => start('containerd', ['containerd', '--config', config]),
        kubelet: () => start('kubelet', ['bash', '-c', KUBELET]),
      });
      writeFileSync(join(programs, 'systemctl'), systemctl.script, { mode: 0o755 });
      systemctl.start('containerd');
      await waitUntil(async () => ((await exec(['ctr', 'version'])).code === 0 ? true : undefined), {
        timeoutMs: SOCKET_TIMEOUT_MS,
        otherwise: () => `containerd of ${name} does not answer:\n${units.get('containerd')?.log()}`,
      });
      if (existsSync(join(folder, 'var/lib/kubelet/config.yaml'))) systemctl.start('kubelet');
    },
    log(component) {
      const unit = units.get(component)?.log();
      const files = globSync(join(folder, `var/log/pods/*_${component}*/*/*.log`));
      const texts = [
        ...(unit === undefined ? [] : [[`${name}: ${component}`, unit] as const]),
        ...files.map((file) => [`${name}: ${podOf(file)}`, readFileSync(file, 'utf8')] as const),
      ];
      const written = texts.filter(([, text]) => text !== '');
      return written.map(([title, text]) => `--- ${title}\n${lastLines(text, LOG_LINES)}`).join('\n');
    },
  };

  function install(added: Readonly<Record<string, string>>): void {
    for (const [program, file] of Object.entries(added)) {
      rmSync(join(programs, program), { force: true });
      symlinkSync(file, join(programs, program));
    }
  }

  function start(unit: string, command: readonly string[]): Service {
    const logs = logFile(`${name}-${unit}`);
    const service = startService(isOn(), { name: unit, command, logFile: logs, env: environment });
    units.set(unit, service);
    return service;
  }
}

/** Gives the node file systems of its own where nodes write; what it is installed with stays visible. */
const MOUNTS = `
mount --make-rshared /
mount -t tmpfs tmpfs /run
mkdir -p /run/netns /run/lock /run/containerd
for own in etc opt usr/libexec; do
  mkdir -p "$1/$own/upper" "$1/$own/work"
  mount -t overlay overlay -o "lowerdir=/$own,upperdir=$1/$own/upper,workdir=$1/$own/work" "/$own"
done
if [ ! -e "$1/prepared" ]; then
  rm -rf /etc/kubernetes /etc/cni /opt/cni
  touch "$1/prepared"
fi
for own in var/lib var/log; do
  mkdir -p "$1/$own"
  mount --bind "$1/$own" "/$own"
done
mkdir -p /etc/cni/net.d /opt/cni/bin
cp /usr/lib/cni/* /opt/cni/bin/
`;

const IDENTITY = `
hostname "$1"
echo "$1" > /etc/hostname
echo "$2" > /etc/machine-id
printf %s "$3" > /etc/hosts
`;

/** The name server is a place where nobody listens: what a cluster does not know itself has no name in the lab. */
const NETWORK = `
ip route replace default via "$1"
rm -f /etc/resolv.conf
echo "nameserver $1" > /etc/resolv.conf
sysctl --quiet --write net.ipv4.ip_forward=1
[ ! -e /proc/sys/net/bridge ] || sysctl --quiet --write net.bridge.bridge-nf-call-iptables=1
`;

function hostsFile(hosts: Readonly<Record<string, string>>): string {
  const lines = Object.entries({ '127.0.0.1': 'localhost', ...hosts }).map((line) => line.join(' '));
  return `${lines.join('\n')}\n`;
}

/** `POD/CONTAINER` of the path of its log: `NAMESPACE_POD_UID/CONTAINER/N.log`. */
function podOf(file: string): string {
  const [, pod] = basename(dirname(dirname(file))).split('_');
  return `${pod}/${basename(dirname(file))}`;
}
