import { translate } from '../src/native/translate.ts';
import type { Policy, TaintPolicy, TolerationPolicy } from '../src/policy/policy.ts';
import { webhookEntries } from '../src/webhooks/webhook-entries.ts';
import { MERGE_PATCH } from '../test/control-plane/content-types.ts';
import { type ControlPlane, startControlPlane } from '../test/control-plane/control-plane.ts';
import { provideOrExit } from '../test/control-plane/provide-or-exit.ts';
import { succeeded } from '../test/control-plane/rest.ts';
import { startTaintkeeper, type Taintkeeper } from '../test/control-plane/taintkeeper.ts';
import { admin, developer } from '../test/control-plane/users.ts';
import { waitUntil } from '../test/control-plane/wait-until.ts';
import { webhooksAtUrl } from '../test/control-plane/webhooks-at-url.ts';
import { daemonSetManifest, daemonSetPath } from '../test/e2e/daemon-sets.ts';
import { createNativeRig } from '../test/e2e/native-rig.ts';
import { path as nodePath } from '../test/e2e/nodes.ts';
import { MASTER } from '../test/unit/judge/request/daemon-set-cases.ts';
import { annotations, features, POOL, status, TAINT } from './large-node.ts';
import { printHead, printRow } from './markdown-table.ts';

/**
 * What a request takes with native policies, with the webhook and its matchConditions, and with neither: with dryRun, so that etcd is
 * out of it, one request after another, over a connection that is kept. Rounds are interleaved. Prints the rows of a Markdown table.
 */
const ROUNDS = 5;
const REQUESTS = 100;
const WARM_UP = 30;
const POLICIES = [1, 20];
const EFFECT_TIMEOUT_MS = 20_000;

const CONTESTANTS = ['none', 'native', 'webhook'] as const;
type Contestant = (typeof CONTESTANTS)[number];

const NODE = 'large';
const OTHER = { key: 'example.com/other', effect: 'NoSchedule' };
const CONTROL_PLANE = { ...MASTER, key: 'node-role.kubernetes.io/control-plane' };

/** So many of each kind, of which one of each is about the objects below. */
function policiesOf(count: number): (TaintPolicy | TolerationPolicy)[] {
  return Array.from({ length: count }, (_, index) => {
    const nodeSelector = { matchLabels: index === 0 ? POOL : { 'example.com/pool': `pool-${index}` } };
    const taint = index === 0 ? TAINT : { ...TAINT, key: `example.com/dedicated-${index}` };
    const namespaces = index === 0 ? ['kube-system'] : [`team-${index}`];
    return [
      {
        kind: 'TaintPolicy',
        name: `taint-${index}`,
        spec: { mode: 'Restore', nodeSelector, taints: [{ key: taint.key }] },
      },
      { kind: 'TolerationPolicy', name: `toleration-${index}`, spec: { mode: 'Mutate', daemonSets: { namespaces } } },
    ] satisfies Policy[];
  }).flat();
}

/** What is asked of the API server, by name. */
const OPERATIONS: Readonly<Record<string, (cp: ControlPlane, number: number) => Promise<{ status: number }>>> = {
  'a label patch of a node': (cp, number) => patchNode(cp, { metadata: { labels: { number: `n${number}` } } }),
  'a taint more on a node': (cp) => patchNode(cp, { spec: { taints: [TAINT, OTHER] } }),
  'a taint removed, and put back': (cp) => patchNode(cp, { spec: { taints: [OTHER] } }),
  'a DaemonSet that lacks nothing': (cp) => createDaemonSet(cp, [MASTER, CONTROL_PLANE]),
  'a DaemonSet that gets a toleration': (cp) => createDaemonSet(cp, [CONTROL_PLANE]),
};

function patchNode(cp: ControlPlane, body: object) {
  return cp.request(developer, 'PATCH', `${nodePath(NODE)}?dryRun=All`, { body, contentType: MERGE_PATCH });
}

interface DaemonSet {
  readonly spec: { readonly template: { readonly spec: { readonly tolerations: readonly { key: string }[] } } };
}

function createDaemonSet(cp: ControlPlane, tolerations: readonly object[]) {
  const body = daemonSetManifest('kube-system', 'agent', { tolerations });
  return cp.request<DaemonSet>(developer, 'POST', `${daemonSetPath('kube-system')}?dryRun=All`, { body });
}

const KINDS = { mutate: 'MutatingWebhookConfiguration', validate: 'ValidatingWebhookConfiguration' } as const;

async function registerWebhooks(cp: ControlPlane, { url, caBundle }: Taintkeeper, policies: readonly Policy[]) {
  for (const phase of ['mutate', 'validate'] as const) {
    const kind = KINDS[phase];
    const webhooks = webhooksAtUrl(webhookEntries(policies), phase, url, caBundle);
    const body = { apiVersion: 'admissionregistration.k8s.io/v1', kind, metadata: { name: 'bench' }, webhooks };
    await succeeded(cp.request(admin, 'POST', configurations(kind), { body }));
  }
}

async function unregisterWebhooks(cp: ControlPlane) {
  for (const kind of Object.values(KINDS)) await cp.request(admin, 'DELETE', `${configurations(kind)}/bench`);
}

function configurations(kind: string): string {
  return `/apis/admissionregistration.k8s.io/v1/${kind.toLowerCase()}s`;
}

/** Waits until a DaemonSet gets its toleration, and a node its taint, or neither does. */
async function untilInForce(cp: ControlPlane, expected: boolean): Promise<void> {
  await waitUntil(
    async () => {
      const node = await cp.request<{ spec: { taints: { key: string }[] } }>(
        developer,
        'PATCH',
        `${nodePath(NODE)}?dryRun=All`,
        { body: { spec: { taints: [OTHER] } }, contentType: MERGE_PATCH },
      );
      const daemonSet = await createDaemonSet(cp, [CONTROL_PLANE]);
      const seen = [
        node.body.spec.taints.some(({ key }) => key === TAINT.key),
        daemonSet.body.spec.template.spec.tolerations.length === 2,
      ];
      return seen.every((one) => one === expected) || undefined;
    },
    { timeoutMs: EFFECT_TIMEOUT_MS, otherwise: () => `the policies are not ${expected ? 'in force' : 'gone'}` },
  );
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
}

await provideOrExit();
await using cp = await startControlPlane();
await cp.request(admin, 'POST', '/api/v1/nodes', {
  body: {
    metadata: { name: NODE, labels: { ...features(0), ...POOL }, annotations: annotations(0) },
    spec: { taints: [TAINT] },
  },
});
// Every new node has a taint for not being ready, too, which the requests would remove.
await cp.request(admin, 'PATCH', nodePath(NODE), { body: { spec: { taints: [TAINT] } }, contentType: MERGE_PATCH });
await cp.request(admin, 'PATCH', `${nodePath(NODE)}/status`, { body: { status: status(0) }, contentType: MERGE_PATCH });
const native = createNativeRig(cp);

printHead('policies of each kind', 'request', ...CONTESTANTS);
for (const count of POLICIES) {
  const policies = policiesOf(count);
  const yaml = policies
    .map(({ kind, name, spec }) =>
      JSON.stringify({ apiVersion: 'taintkeeper.dev/v1alpha1', kind, metadata: { name }, spec }),
    )
    .join('\n---\n');
  await using taintkeeper = await startTaintkeeper({ policies: yaml });
  const medians = new Map<string, number[]>();
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const contestant of CONTESTANTS) {
      await putInPlace(contestant, policies, taintkeeper);
      for (const [what, request] of Object.entries(OPERATIONS)) {
        const times: number[] = [];
        for (let number = -WARM_UP; number < REQUESTS; number += 1) {
          const began = performance.now();
          const { status: code } = await request(cp, number);
          if (code >= 300) throw new Error(`${what}: ${code}`);
          if (number >= 0) times.push(performance.now() - began);
        }
        const key = `${what}, ${contestant}`;
        medians.set(key, [...(medians.get(key) ?? []), median(times)]);
      }
    }
  }
  for (const what of Object.keys(OPERATIONS)) {
    const cells = CONTESTANTS.map((contestant) => {
      const found = medians.get(`${what}, ${contestant}`) ?? [];
      return `${median(found).toFixed(2)} ms (${Math.min(...found).toFixed(2)}-${Math.max(...found).toFixed(2)})`;
    });
    printRow(String(count), what, ...cells);
  }
}

async function putInPlace(
  contestant: Contestant,
  policies: readonly (TaintPolicy | TolerationPolicy)[],
  taintkeeper: Taintkeeper,
) {
  await unregisterWebhooks(cp);
  await native.enforce(
    contestant === 'native'
      ? policies.flatMap((policy) => translate(policy, { among: policies, mutates: true, purpose: 'Alone' }).policies)
      : [],
  );
  if (contestant === 'webhook') await registerWebhooks(cp, taintkeeper, policies);
  await untilInForce(cp, contestant !== 'none');
}
