import { setTimeout as delay } from 'node:timers/promises';
import type { Scenario } from '../measure.ts';

const HELD_MS = 10_000;

export const controlPlaneFaults: readonly Scenario[] = [
  {
    name: 'kill-api-server',
    what: 'SIGKILL of the API server, started again at once',
    run: ({ cp }) => cp.restartComponent('kube-apiserver', 'SIGKILL'),
  },
  {
    name: 'kill-etcd',
    what: 'SIGKILL of etcd, started again after 5 s',
    async run({ cp }) {
      await cp.stopComponent('etcd', 'SIGKILL');
      await delay(5_000);
      await cp.startComponent('etcd');
    },
  },
  {
    name: 'kill-control-plane',
    what: 'SIGKILL of API server and etcd, both started again at once',
    async run({ cp }) {
      await cp.stopComponent('kube-apiserver', 'SIGKILL');
      await cp.restartComponent('etcd', 'SIGKILL');
      await cp.startComponent('kube-apiserver');
    },
  },
  {
    name: 'slow-etcd',
    what: 'etcd answers 500 ms later, for 10 s',
    async run({ ways }) {
      // There and back again.
      ways.apiServerToEtcd.delay(250);
      await delay(HELD_MS);
      ways.apiServerToEtcd.delay(0);
    },
  },
];
