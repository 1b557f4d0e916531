import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { waitUntil } from '../../control-plane/wait-until.ts';
import { BRIDGE_ADDRESS, nodeAddress } from '../../real-node/addresses.ts';
import { cgroupOf, makeCgroup, removeCgroup } from '../../real-node/cgroups.ts';
import { makeNamespaces, type Namespaces } from '../../real-node/namespaces.ts';
import { disconnectNode, plugIn } from '../../real-node/network.ts';

/** The lab itself, on the wire. */
export const [LAB = ''] = BRIDGE_ADDRESS.split('/');
const SCRIPT = join(import.meta.dirname, 'boot.sh');
const LISTENING_TIMEOUT_MS = 60_000;

/** A machine that runs Talos in container mode, with its own kernel namespaces. */
export interface Machine {
  readonly name: string;
  readonly address: string;
  /** What its console shows. */
  log(): string;
  /**
   * Starts it. With a configuration, it has that and a new disk; an empty one means maintenance mode. Without an argument, it has the disk of
   * the last time. Resolves when apid listens.
   */
  boot(configuration?: string): Promise<void>;
  /** As when the plug is pulled: all of its processes end at once. */
  cutPower(): Promise<void>;
  /** Pauses machined, as when it hangs, or lets it go on. apid, which is another process, goes on. */
  signal(name: 'SIGSTOP' | 'SIGCONT'): void;
}

export interface MachineOptions {
  readonly name: string;
  readonly number: number;
  readonly lab: Namespaces;
  /** The root file system of Talos. */
  readonly root: string;
  /** For the machine's disk. */
  readonly folder: string;
  readonly logFile: string;
  readonly readLog: () => string;
}

/** A machine that has no power yet. */
export function createMachine({ name, number, lab, root, folder, logFile, readLog }: MachineOptions): Machine {
  const address = nodeAddress(number);
  const cgroup = cgroupOf(name);
  const connected = join(folder, 'connected');
  let namespaces: Namespaces | undefined;
  return {
    name,
    address,
    log: readLog,
    async boot(configuration) {
      if (namespaces) throw new Error(`machine ${name} has power`);
      if (configuration !== undefined) {
        rmSync(folder, { recursive: true, force: true });
        mkdirSync(folder, { recursive: true });
        writeFileSync(join(folder, 'configuration.yaml'), configuration, { mode: 0o600 });
      }
      rmSync(connected, { force: true });
      makeCgroup(cgroup, 'itself');
      namespaces = await makeNamespaces(name, logFile, lab, ['bash', SCRIPT, name, address, root, folder, cgroup]);
      await plugIn(lab, namespaces, number);
      await namespaces.run(['ip', 'route', 'add', 'default', 'via', LAB]);
      writeFileSync(connected, '');
      await waitUntil(
        async () =>
          (await lab.run(['bash', '-c', `: < /dev/tcp/${address}/50000`]).catch(() => undefined)) ?? undefined,
        { timeoutMs: LISTENING_TIMEOUT_MS, otherwise: () => `apid of ${name} does not listen:\n${readLog()}` },
      );
    },
    async cutPower() {
      const last = namespaces;
      if (!last) return;
      namespaces = undefined;
      await disconnectNode(lab, number).catch(() => {});
      await last.end();
      await removeCgroup(cgroup);
    },
    signal(signalName) {
      if (namespaces) process.kill(namespaces.pid, signalName);
    },
  };
}
