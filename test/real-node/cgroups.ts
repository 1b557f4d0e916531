import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { waitUntil } from '../control-plane/wait-until.ts';
import { isAlive } from '../control-plane/workspace.ts';

const ROOT = '/sys/fs/cgroup';
const EMPTY_TIMEOUT_MS = 10_000;

/** Whether this machine has the unified hierarchy alone. */
export function hasUnifiedCgroups(): boolean {
  return existsSync(join(ROOT, 'cgroup.controllers'));
}

/** A name for the cgroup of one node of this process. */
export function cgroupOf(node: string): string {
  return `taintkeeper-${process.pid}-${node}`;
}

/** Removes those of processes that were killed: then nobody else does. */
export function sweepCgroups(): void {
  for (const hierarchy of hierarchies()) {
    for (const name of readdirSync(hierarchy)) {
      const owner = /^taintkeeper-(\d+)-/.exec(name)?.[1];
      if (owner !== undefined && !isAlive(Number(owner))) removeTree(join(hierarchy, name));
    }
  }
}

/**
 * Makes a cgroup in which a kubelet can make those of its pods. See {@link cgroupOf}.
 *
 * @param processes where processes will be. Of the unified hierarchy, a cgroup has processes itself, or its children have controllers.
 */
export function makeCgroup(name: string, processes: 'below' | 'itself' = 'below'): void {
  if (hasUnifiedCgroups()) {
    const controllers = readFileSync(join(ROOT, 'cgroup.controllers'), 'utf8').trim().split(' ').filter(Boolean);
    const enabling = controllers.map((controller) => `+${controller}`).join(' ');
    writeFileSync(join(ROOT, 'cgroup.subtree_control'), enabling);
    mkdirSync(join(ROOT, name));
    if (processes === 'below') writeFileSync(join(ROOT, name, 'cgroup.subtree_control'), enabling);
    return;
  }
  for (const hierarchy of hierarchies()) mkdirSync(join(hierarchy, name), { recursive: true });
  // A new one has neither processors nor memory, and nothing can be started in it.
  for (const file of ['cpuset.cpus', 'cpuset.mems']) {
    const all = join(ROOT, 'cpuset', file);
    if (existsSync(all)) writeFileSync(join(ROOT, 'cpuset', name, file), readFileSync(all));
  }
}

/** Removes a cgroup and all below it, once the processes in it are gone. */
export async function removeCgroup(name: string): Promise<void> {
  for (const hierarchy of hierarchies()) {
    const folder = join(hierarchy, name);
    await waitUntil(() => (removeTree(folder) ? true : undefined), {
      timeoutMs: EMPTY_TIMEOUT_MS,
      otherwise: () => `${folder} still has processes`,
    });
  }
}

/** False while there are processes in it. */
function removeTree(folder: string): boolean {
  try {
    for (const child of readdirSync(folder, { withFileTypes: true })) {
      if (child.isDirectory() && !removeTree(join(folder, child.name))) return false;
    }
    rmdirSync(folder);
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return true;
    if (code === 'EBUSY') return false;
    throw error;
  }
}

function hierarchies(): string[] {
  if (hasUnifiedCgroups()) return [ROOT];
  const folders = readdirSync(ROOT, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  return folders.map(({ name }) => join(ROOT, name)).filter((folder) => existsSync(join(folder, 'cgroup.procs')));
}
