import { existsSync, mkdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** A share of the CPU, as a container or a pod has one. */
export interface CpuCgroup {
  /** What a shell does to enter it. */
  readonly enter: string;
  admit(pid: number): void;
  /** One inside it. */
  inner(name: string, milliCpu: number): CpuCgroup;
  /** Only once its processes have ended, and those inside it are removed. */
  remove(): void;
}

const ROOT = '/sys/fs/cgroup';
const IS_V2 = existsSync(join(ROOT, 'cgroup.controllers'));

/**
 * Makes one beside all other programs; version 2 of cgroups or version 1.
 * @param milliCpu its weight, as the kubelet makes it of a request
 * @throws Error where that takes rights that this process has not
 */
export function createCpuCgroup(name: string, milliCpu: number): CpuCgroup {
  if (IS_V2) writeFileSync(join(ROOT, 'cgroup.subtree_control'), '+cpu');
  return create(join(ROOT, IS_V2 ? '' : 'cpu', name), milliCpu);
}

function create(folder: string, milliCpu: number): CpuCgroup {
  mkdirSync(folder);
  const shares = Math.max(2, Math.floor((milliCpu * 1024) / 1000));
  if (IS_V2) writeFileSync(join(folder, 'cpu.weight'), String(Math.floor(1 + ((shares - 2) * 9999) / 262_142)));
  else writeFileSync(join(folder, 'cpu.shares'), String(shares));
  const processes = join(folder, 'cgroup.procs');
  return {
    enter: `echo $$ > ${processes}`,
    admit: (pid) => writeFileSync(processes, String(pid)),
    inner(name, inside) {
      if (IS_V2) writeFileSync(join(folder, 'cgroup.subtree_control'), '+cpu');
      return create(join(folder, name), inside);
    },
    remove: () => rmdirSync(folder),
  };
}

/** Where programs are that no cgroup of ours has. */
export function leaveCpuCgroup(pid: number): void {
  writeFileSync(join(ROOT, IS_V2 ? '' : 'cpu', 'cgroup.procs'), String(pid));
}
