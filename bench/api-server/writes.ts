import { MERGE_PATCH } from '../../test/control-plane/content-types.ts';
import type { ControlPlane } from '../../test/control-plane/control-plane.ts';
import { type Answer, succeeded } from '../../test/control-plane/rest.ts';
import { developer } from '../../test/control-plane/users.ts';
import { path } from '../../test/e2e/nodes.ts';
import { TAINT } from '../large-node.ts';
import { LABEL } from './contender.ts';

const DAEMON_SETS = '/apis/apps/v1/namespaces/kube-system/daemonsets';
const START_UP = { key: 'example.com/start-up', effect: 'NoExecute' };

/** Where one client writes. */
export interface Target {
  readonly cp: ControlPlane;
  /** A node of 40 KB, which nobody else writes. */
  readonly node: string;
  /** A node like it, which the rules are not for. */
  readonly other: string;
  readonly label: string;
}

/** A write that everybody allows; `serial` counts those of the target. Throws when it is refused, or not changed as it should be. */
export interface Write {
  readonly what: string;
  send(target: Target, serial: number): Promise<void>;
}

export const WRITES: readonly Write[] = [
  { what: 'label patch of a node', send: ({ cp, node }, serial) => patchLabel(cp, node, serial) },
  { what: 'label patch of another node', send: ({ cp, other }, serial) => patchLabel(cp, other, serial) },
  {
    what: 'taint patch of a node',
    async send({ cp, node }, serial) {
      await succeeded(patch(cp, node, { spec: { taints: serial % 2 ? [TAINT, START_UP] : [TAINT] } }));
    },
  },
  {
    what: 'create of a DaemonSet',
    async send({ cp, node, label }, serial) {
      const daemonSet = await succeeded(create(cp, label, `agent-${serial}.${node}`));
      if (label !== 'none' && !tolerates(daemonSet)) throw new Error(`${label} added no toleration`);
    },
  },
];

/** Takes away what the last of the writes has made. */
export async function removeDaemonSets(cp: ControlPlane): Promise<void> {
  const query = `labelSelector=${encodeURIComponent(LABEL)}&propagationPolicy=Background`;
  await succeeded(cp.request(developer, 'DELETE', `${DAEMON_SETS}?${query}`));
}

/** Whether the API server keeps the protected taint and adds the tolerations, for the objects with the label. Changes nothing. */
export async function isInForce({ cp, node, label }: Target): Promise<boolean> {
  const removal = await patch(cp, node, { spec: { taints: [] } }, '?dryRun=All');
  if (removal.status < 400 || removal.status >= 500) return false;
  return tolerates((await create(cp, label, `probe-${label}`, '?dryRun=All')).body);
}

async function patchLabel(cp: ControlPlane, node: string, serial: number): Promise<void> {
  const labels = { 'bench.example.com/serial': String(serial) };
  await succeeded(patch(cp, node, { metadata: { labels } }));
}

function patch(cp: ControlPlane, node: string, body: object, query = ''): Promise<Answer> {
  return cp.request(developer, 'PATCH', `${path(node)}${query}`, { body, contentType: MERGE_PATCH });
}

function create(cp: ControlPlane, label: string, name: string, query = ''): Promise<Answer> {
  const app = { app: 'agent' };
  const containers = [{ name: 'agent', image: 'registry.example.com/agent' }];
  const spec = { selector: { matchLabels: app }, template: { metadata: { labels: app }, spec: { containers } } };
  return cp.request(developer, 'POST', DAEMON_SETS + query, {
    body: { metadata: { name, labels: { [LABEL]: label } }, spec },
  });
}

function tolerates(daemonSet: unknown): boolean {
  const { spec } = daemonSet as { spec?: { template: { spec: { tolerations?: unknown[] } } } };
  return spec?.template.spec.tolerations?.length === 2;
}
