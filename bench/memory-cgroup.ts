import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** A memory cgroup of its own, as a container has one. */
export interface MemoryCgroup {
  /** What a shell does to enter it. */
  readonly enter: string;
  /** The most that was charged to it until now, in MiB. */
  peakMib(): number;
  /** How many of its processes the kernel has killed because it was full. */
  kills(): number;
  remove(): void;
}

/**
 * Makes one with a limit; version 2 of cgroups or version 1.
 * @throws Error where that takes rights that this process has not
 */
export function createMemoryCgroup(name: string, limitMib: number): MemoryCgroup {
  const isV2 = existsSync('/sys/fs/cgroup/cgroup.controllers');
  const folder = join('/sys/fs/cgroup', isV2 ? '' : 'memory', name);
  const files = isV2
    ? { limit: 'memory.max', peak: 'memory.peak', events: 'memory.events' }
    : { limit: 'memory.limit_in_bytes', peak: 'memory.max_usage_in_bytes', events: 'memory.oom_control' };
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, files.limit), String(limitMib * 2 ** 20));
  const read = (file: string) => readFileSync(join(folder, file), 'utf8');
  return {
    enter: `echo $$ > ${join(folder, 'cgroup.procs')}`,
    peakMib: () => Number(read(files.peak)) / 2 ** 20,
    kills: () => Number(/^oom_kill (\d+)$/m.exec(read(files.events))?.[1]),
    remove: () => rmdirSync(folder),
  };
}
