import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { MERGE_PATCH, STRATEGIC_MERGE_PATCH } from '../control-plane/content-types.ts';
import type { ControlPlane } from '../control-plane/control-plane.ts';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { startTaintkeeper, type Taintkeeper } from '../control-plane/taintkeeper.ts';
import { admin, developer, node } from '../control-plane/users.ts';
import { waitUntilCalled } from '../control-plane/webhook.ts';
import { attempt, kubectl, path } from './nodes.ts';

const GUIDE = readFileSync(new URL('../../docs/outside-a-cluster.md', import.meta.url), 'utf8');
const [CONFIGURATIONS = '', STRICT = ''] = [...GUIDE.matchAll(/^```yaml\n([\s\S]*?)^```$/gm)].map(([, block]) => block);

const CONTROL_PLANE_TAINT = { key: 'node-role.kubernetes.io/control-plane', effect: 'NoSchedule' };

interface Webhook {
  name: string;
  clientConfig: { url: string; caBundle: string };
}

interface Configuration {
  kind: string;
  metadata: { name: string };
  webhooks: Webhook[];
}

/** The guide's configurations, with what an operator has to fill in. */
function filledIn({ url, caBundle }: Taintkeeper): Configuration[] {
  const text = CONFIGURATIONS.replaceAll('https://webhook.example.com:8443', url);
  const configurations = parseAllDocuments(text).map((document) => document.toJS() as Configuration);
  for (const { webhooks } of configurations) for (const { clientConfig } of webhooks) clientConfig.caBundle = caBundle;
  return configurations;
}

/** The stricter variant: its webhooks in place of the one validating webhook, which gives what they leave out. */
function strict(configurations: Configuration[]): Configuration[] {
  const { webhooks } = parse(STRICT) as { webhooks: Partial<Webhook>[] };
  return configurations.map((configuration) => {
    const [single] = configuration.webhooks;
    if (configuration.kind !== 'ValidatingWebhookConfiguration' || !single) return configuration;
    return { ...configuration, webhooks: webhooks.map((webhook) => ({ ...single, ...webhook })) };
  });
}

async function register(cp: ControlPlane, configurations: Configuration[], probed: string[]): Promise<void> {
  for (const configuration of configurations) {
    const applied = await kubectl(cp, admin, ['apply', '--validate=strict', '-f', '-'], JSON.stringify(configuration));
    expect(applied).toMatchObject({ passed: true, warnings: [] });
  }
  await waitUntilCalled(cp, probed);
}

const removeTaints = (cp: ControlPlane, name: string) =>
  attempt(cp, developer, 'PATCH', path(name), { spec: { taints: null } }, MERGE_PATCH);

describeWithControlPlane("the operator's guide", {}, (cp) => {
  let taintkeeper: Taintkeeper;
  beforeAll(async () => {
    taintkeeper = await startTaintkeeper();
    const body = { metadata: { name: 'cp-1' }, spec: { taints: [CONTROL_PLANE_TAINT] } };
    await cp().request(node('cp-1'), 'POST', '/api/v1/nodes', { body });
  });

  it('has webhook configurations that protect, with the built-in policies', async () => {
    await register(cp(), filledIn(taintkeeper), ['mutate.taintkeeper.dev', 'validate.taintkeeper.dev']);
    expect((await removeTaints(cp(), 'cp-1')).error).toContain('TaintPolicy "control-plane-taints"');
  });

  describe('has a stricter variant', () => {
    it('that protects as well', async () => {
      await register(cp(), strict(filledIn(taintkeeper)), ['mutate.taintkeeper.dev', 'report.taintkeeper.dev']);
      expect((await removeTaints(cp(), 'cp-1')).error).toContain('TaintPolicy "control-plane-taints"');
    });

    it('that, while taintkeeper is down, refuses what it must, and nothing else', async () => {
      await taintkeeper.stop();
      const label = { metadata: { labels: { a: 'b' } } };
      const status = { status: { conditions: [{ type: 'Ready', status: 'True', reason: 'KubeletReady' }] } };
      const patch = (where: string, body: object, user = developer) =>
        attempt(cp(), user, 'PATCH', where, body, STRATEGIC_MERGE_PATCH);

      expect((await removeTaints(cp(), 'cp-1')).error).toContain('failed calling webhook "protect.taintkeeper.dev"');
      expect((await patch(path('cp-1'), label)).passed).toBe(false);
      expect((await kubectl(cp(), developer, ['cordon', 'cp-1'])).passed).toBe(true);
      expect((await kubectl(cp(), developer, ['annotate', 'node', 'cp-1', 'x=y'])).passed).toBe(true);
      expect((await patch(`${path('cp-1')}/status`, status, node('cp-1'))).passed).toBe(true);
      const body = { metadata: { name: 'cp-2' }, spec: { taints: [CONTROL_PLANE_TAINT] } };
      expect((await cp().request(node('cp-2'), 'POST', '/api/v1/nodes', { body })).status).toBe(201);
    });
  });
});
