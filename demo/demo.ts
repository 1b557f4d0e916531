import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { parsePolicies } from '../src/files/policy-files.ts';
import { webhookEntries } from '../src/webhooks/webhook-entries.ts';
import { MERGE_PATCH } from '../test/control-plane/content-types.ts';
import { type ControlPlane, startControlPlane } from '../test/control-plane/control-plane.ts';
import { provideOrExit } from '../test/control-plane/provide-or-exit.ts';
import { succeeded } from '../test/control-plane/rest.ts';
import { startTaintkeeper, type Taintkeeper } from '../test/control-plane/taintkeeper.ts';
import { admin, developer, node, type User } from '../test/control-plane/users.ts';
import { CONFIGURATION_NAME, waitUntilCalled } from '../test/control-plane/webhook.ts';
import { webhooksAtUrl } from '../test/control-plane/webhooks-at-url.ts';
import { chapter, say, secondsSince, showKubectl } from './printing.ts';
import { playOnRealNodes } from './real-nodes.ts';

const POLICIES = [
  '../manifests/policies/control-plane-taints.yaml',
  '../manifests/policies/cni-tolerations.yaml',
  'policies.yaml',
]
  .map((file) => readFileSync(new URL(file, import.meta.url), 'utf8'))
  .join('---\n');
const CONTROL_PLANE_TAINT = { key: 'node-role.kubernetes.io/control-plane', effect: 'NoSchedule' };

const NODES = '/api/v1/nodes';
const CONFIGURATIONS = '/apis/admissionregistration.k8s.io/v1';
const TAINTS =
  'custom-columns=NODE:.metadata.name,POOL:.metadata.labels.pool,TEAM:.metadata.labels.team,TAINTS:.spec.taints[*].key';
const TOLERATIONS = 'custom-columns=DAEMONSET:.metadata.name,TOLERATIONS:.spec.template.spec.tolerations[*].key';

async function main(): Promise<void> {
  await provideOrExit();
  const start = performance.now();
  say('Starting etcd and kube-apiserver …');
  await using cp = await startControlPlane();
  await using taintkeeper = await startTaintkeeper({ policies: POLICIES });
  await registerWebhooks(cp, taintkeeper);
  say(`… and taintkeeper, with the webhooks that its leader registers in a cluster: ${secondsSince(start)}.`);

  await play(cp);

  chapter('What taintkeeper counted');
  const counters = (await taintkeeper.metrics()).match(/^taintkeeper_decisions_total.*$/gm) ?? [];
  for (const line of counters) say(line);
  chapter('Stopping everything …');
}

async function play(cp: ControlPlane): Promise<void> {
  const kubectl = (user: User, args: string[], input?: string) => showKubectl(cp, user, args, input);

  chapter('1. Two nodes register; the kubelet of gpu-1 does not know the taint that its pool should have');
  await register(cp, 'cp-1', {}, [CONTROL_PLANE_TAINT]);
  await register(cp, 'gpu-1', { pool: 'gpu' }, []);
  await kubectl(developer, ['get', 'node', 'gpu-1', '-o', TAINTS]);

  chapter('2. Deny: a user removes the control-plane taint');
  await kubectl(admin, ['taint', 'node', 'cp-1', 'node-role.kubernetes.io/control-plane-']);

  chapter('3. Restore: a user removes the taint of the GPU pool, and adds a label in the same request');
  await kubectl(developer, [
    'patch',
    'node',
    'gpu-1',
    '--type=merge',
    '-p',
    '{"metadata":{"labels":{"team":"vision"}},"spec":{"taints":null}}',
  ]);
  await kubectl(developer, ['get', 'node', 'gpu-1', '-o', TAINTS]);

  chapter('4. Audit: a user removes a taint, and taintkeeper only reports it');
  await kubectl(developer, ['taint', 'node', 'gpu-1', 'example.com/maintenance=soon:PreferNoSchedule']);
  await kubectl(developer, ['taint', 'node', 'gpu-1', 'example.com/maintenance-']);

  chapter('5. On purpose: a user annotates the node first, then removes the taint');
  await kubectl(admin, [
    'annotate',
    'node',
    'cp-1',
    'taintkeeper.dev/allow-removal=node-role.kubernetes.io/control-plane:NoSchedule',
  ]);
  await kubectl(admin, ['taint', 'node', 'cp-1', 'node-role.kubernetes.io/control-plane-']);

  chapter("6. Flannel's DaemonSet tolerates control-plane only; some nodes are still tainted master");
  await cp.kubectl(['create', 'namespace', 'kube-flannel']);
  await kubectl(admin, ['apply', '-f', '-'], readFileSync(new URL('kube-flannel.yaml', import.meta.url), 'utf8'));
  await kubectl(developer, ['get', '-n', 'kube-flannel', 'daemonset', 'kube-flannel-ds', '-o', TOLERATIONS]);
}

/** The webhooks that the leader registers for these policies in a cluster, at a URL in place of a Service. Resolves once they are called. */
async function registerWebhooks(cp: ControlPlane, { url, caBundle }: Taintkeeper): Promise<void> {
  // Before the webhooks, so that taintkeeper does not count it.
  const probe = { metadata: { name: 'probe', labels: { pool: 'gpu' } }, spec: { taints: [CONTROL_PLANE_TAINT] } };
  await cp.request(admin, 'POST', NODES, { body: probe });
  const entries = webhookEntries(parsePolicies([{ name: 'demo', text: POLICIES }]));
  for (const [kind, phase] of [
    ['MutatingWebhookConfiguration', 'mutate'],
    ['ValidatingWebhookConfiguration', 'validate'],
  ] as const) {
    const body = {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind,
      metadata: { name: CONFIGURATION_NAME },
      webhooks: webhooksAtUrl(entries, phase, url, caBundle),
    };
    await succeeded(cp.request(admin, 'POST', `${CONFIGURATIONS}/${kind.toLowerCase()}s`, { body }));
  }
  await waitUntilCalled(cp, ['register.taintkeeper.dev', 'protect.taintkeeper.dev'], async () => {
    const dryRun = { ...probe, metadata: { ...probe.metadata, name: 'dry-run' } };
    await cp.request(admin, 'POST', `${NODES}?dryRun=All`, { body: dryRun });
    const removal = { body: { spec: { taints: null } }, contentType: MERGE_PATCH };
    return cp.request(admin, 'PATCH', `${NODES}/probe?dryRun=All`, removal);
  });
  await cp.request(admin, 'DELETE', `${NODES}/probe`);
}

/** Creates a node as its own kubelet would. */
async function register(cp: ControlPlane, name: string, labels: object, taints: object[]): Promise<void> {
  const body = { metadata: { name, labels }, spec: { taints } };
  const { status } = await cp.request(node(name), 'POST', NODES, { body });
  say(`node ${name} registered as system:node:${name}: HTTP ${status}`);
}

try {
  const { values } = parseArgs({ options: { real: { type: 'boolean' } } });
  await (values.real ? playOnRealNodes() : main());
} catch (error) {
  process.stderr.write(`demo: ${error instanceof Error ? error.message : error}\n`);
  process.exitCode = 1;
}
