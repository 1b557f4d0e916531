import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Processes that share a limit of the kernel, as those of a container do. */
export interface Cgroup {
  /** What a shell does to enter it. */
  readonly enter: string;
  /** Only once its processes have ended, and those inside it are removed. */
  remove(): void;
}

export interface MemoryCgroup extends Cgroup {
  /** The most that was charged to it until now, in MiB. */
  peakMib(): number;
  /** How many of its processes the kernel has killed because it was full. */
  kills(): number;
}

/** A share of the CPU. */
export interface CpuCgroup extends Cgroup {
  admit(pid: number): void;
  /** One inside it. */
  inner(name: string, milliCpu: number): CpuCgroup;
}

const IS_V2 = existsSync('/sys/fs/cgroup/cgroup.controllers');

/** Version 2 of cgroups has one hierarchy, and version 1 has one for each controller. */
const rootOf = (controller: string) => join('/sys/fs/cgroup', IS_V2 ? '' : controller);

function create(folder: string): Cgroup {
  mkdirSync(folder);
  return { enter: `echo $$ > ${processesOf(folder)}`, remove: () => rmdirSync(folder) };
}

const processesOf = (folder: string) => join(folder, 'cgroup.procs');

/**
 * Makes one with a limit.
 * @throws Error where that takes rights that this process has not
 */
export function createMemoryCgroup(name: string, limitMib: number): MemoryCgroup {
  const folder = join(rootOf('memory'), name);
  const cgroup = create(folder);
  const files = IS_V2
    ? { limit: 'memory.max', peak: 'memory.peak', events: 'memory.events' }
    : { limit: 'memory.limit_in_bytes', peak: 'memory.max_usage_in_bytes', events: 'memory.oom_control' };
  writeFileSync(join(folder, files.limit), String(limitMib * 2 ** 20));
  const read = (file: string) => readFileSync(join(folder, file), 'utf8');
  return {
    ...cgroup,
    peakMib: () => Number(read(files.peak)) / 2 ** 20,
    kills: () => Number(/^oom_kill (\d+)$/m.exec(read(files.events))?.[1]),
  };
}

/**
 * Makes one beside all other programs.
 * @param milliCpu its weight, as the kubelet makes it of a request
 * @throws Error where that takes rights that this process has not
 */
export function createCpuCgroup(name: string, milliCpu: number): CpuCgroup {
  return createCpuCgroupIn(rootOf('cpu'), name, milliCpu);
}

function createCpuCgroupIn(parent: string, name: string, milliCpu: number): CpuCgroup {
  if (IS_V2) writeFileSync(join(parent, 'cgroup.subtree_control'), '+cpu');
  const folder = join(parent, name);
  const cgroup = create(folder);
  const shares = Math.max(2, Math.floor((milliCpu * 1024) / 1000));
  if (IS_V2) writeFileSync(join(folder, 'cpu.weight'), String(Math.floor(1 + ((shares - 2) * 9999) / 262_142)));
  else writeFileSync(join(folder, 'cpu.shares'), String(shares));
  return {
    ...cgroup,
    admit: (pid) => writeFileSync(processesOf(folder), String(pid)),
    inner: (child, inside) => createCpuCgroupIn(folder, child, inside),
  };
}

/** Where programs are that no cgroup of ours has. */
export function leaveCpuCgroup(pid: number): void {
  writeFileSync(processesOf(rootOf('cpu')), String(pid));
}
