import { cpSync, rmSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type { Component } from './components.ts';
import { compact } from './etcd.ts';
import type { RestClient } from './rest.ts';
import type { RunningComponent } from './start-component.ts';

/** SIGTERM is answered with a component's own shutdown; SIGKILL is a crash. */
export type Ending = 'SIGTERM' | 'SIGKILL';

const STOP_GRACE_MS = 5_000;

/** What tests may do to a control plane. Only {@link EtcdBackup.restore} loses what etcd has stored. */
export interface Faults {
  /**
   * Ends a component, by SIGTERM unless said otherwise; then by SIGKILL after 5 s, which etcd needs while the API server
   * is connected to it.
   */
  stopComponent(component: Component, ending?: Ending): Promise<void>;
  /** Starts a component that has ended, on the same ports and with the same files, and waits until it is well. */
  startComponent(component: Component): Promise<void>;
  /** Both, one after the other. */
  restartComponent(component: Component, ending?: Ending): Promise<void>;
  /** Makes etcd forget old revisions, and returns the oldest that is left. See etcd.ts for what that does, and does not. */
  compactEtcd(): Promise<number>;
  /** Copies what etcd has stored. For that, it stops the API server and etcd, and starts them again. */
  backUpEtcd(): Promise<EtcdBackup>;
}

/** What etcd had stored at one moment. */
export interface EtcdBackup {
  /**
   * Stops the API server and etcd, and starts them with the copy. etcd then counts its revisions from there: they are smaller than those
   * that clients have seen.
   * @param downMs how long both are down at least, in milliseconds
   */
  restore(downMs: number): Promise<void>;
}

/**
 * @param connectToEtcd makes a client with a certificate that etcd accepts
 * @param etcdData the folder of etcd's data
 */
export function createFaults(
  running: ReadonlyMap<Component, RunningComponent>,
  connectToEtcd: () => RestClient,
  etcdData: string,
): Faults {
  const find = (component: Component): RunningComponent => {
    const found = running.get(component);
    if (!found) throw new Error(`this control plane was started without ${component}`);
    return found;
  };
  const stopComponent = async (component: Component, ending: Ending = 'SIGTERM') => {
    const { process } = find(component);
    await (ending === 'SIGKILL' ? process.kill() : process.stop(STOP_GRACE_MS));
  };
  const startComponent = (component: Component) => find(component).restart();
  const whileEtcdIsDown = async (work: () => void | Promise<void>) => {
    await stopComponent('kube-apiserver');
    await stopComponent('etcd');
    await work();
    await startComponent('etcd');
    await startComponent('kube-apiserver');
  };
  const copy = (from: string, to: string) => {
    rmSync(to, { recursive: true, force: true });
    cpSync(from, to, { recursive: true });
  };
  return {
    stopComponent,
    startComponent,
    restartComponent: async (component, ending) => {
      await stopComponent(component, ending);
      await startComponent(component);
    },
    compactEtcd: async () => {
      const client = connectToEtcd();
      try {
        return await compact(client);
      } finally {
        client.close();
      }
    },
    backUpEtcd: async () => {
      const backup = `${etcdData}.backup`;
      await whileEtcdIsDown(() => copy(etcdData, backup));
      return {
        restore: (downMs) =>
          whileEtcdIsDown(async () => {
            copy(backup, etcdData);
            await delay(downMs);
          }),
      };
    },
  };
}
