import { setTimeout as delay } from 'node:timers/promises';
import { NAMESPACE } from '../../../../scripts/chart.ts';
import { succeeded } from '../../../control-plane/rest.ts';
import { admin } from '../../../control-plane/users.ts';
import { kubectl, productPods } from '../../product.ts';
import type { Outage, Site } from '../outage.ts';

const DEPLOYMENT = 'deployment/taintkeeper';
/** Longer than a replica takes to start. */
const ROLLOUT_HELD_MS = 20_000;
const KILL = ['pkill', '-KILL', '-f', 'taintkeeper.cjs serve'];

/** What happens to replicas, while nodes are well. */
export const replicaOutages: readonly Outage[] = [
  { name: 'kill-leader', what: 'SIGKILL of the replica that is called, which leads', called: 'leader', run: kill },
  {
    name: 'kill-other',
    what: 'SIGKILL of the replica that is called, which does not lead',
    called: 'other',
    run: kill,
  },
  {
    name: 'kill-both',
    what: 'SIGKILL of both replicas',
    called: 'leader',
    run: async ({ cluster }) => {
      await Promise.all(cluster.nodes.map((node) => node.run(KILL)));
    },
  },
  {
    name: 'rollout',
    what: '`kubectl rollout restart`',
    called: 'leader',
    run: async ({ cluster }) => {
      await kubectl(cluster, ['rollout', 'restart', DEPLOYMENT, '-n', NAMESPACE]);
    },
  },
  {
    name: 'delete-pods',
    what: '`kubectl delete pods --all` in the namespace',
    called: 'leader',
    run: async ({ cluster }) => {
      await kubectl(cluster, ['delete', 'pods', '--all', '-n', NAMESPACE, '--wait=false']);
    },
  },
  { name: 'evict', what: 'eviction of the replica that is called, which leads', called: 'leader', run: evict },
  {
    name: 'no-such-image',
    what: `a rollout to an image that does not exist, undone after ${ROLLOUT_HELD_MS / 1000} s`,
    called: 'leader',
    async run({ cluster }) {
      await kubectl(cluster, ['set', 'image', DEPLOYMENT, 'taintkeeper=registry.invalid/none:1', '-n', NAMESPACE]);
      await delay(ROLLOUT_HELD_MS);
      await kubectl(cluster, ['rollout', 'undo', DEPLOYMENT, '-n', NAMESPACE]);
    },
  },
];

async function kill({ cluster, called }: Site): Promise<void> {
  await cluster.nodes.find(({ name }) => name === called)?.run(KILL);
}

async function evict({ cluster, called }: Site): Promise<void> {
  const pod = (await productPods(cluster)).find(({ spec }) => spec.nodeName === called);
  const path = `/api/v1/namespaces/${NAMESPACE}/pods/${pod?.metadata.name}/eviction`;
  const body = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: pod?.metadata.name } };
  await succeeded(cluster.request(admin, 'POST', path, { body }));
}
