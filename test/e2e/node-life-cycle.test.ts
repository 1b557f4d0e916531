import { afterAll, beforeAll, expect, it } from 'vitest';
import { STRATEGIC_MERGE_PATCH } from '../control-plane/content-types.ts';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { startTaintkeeper, type Taintkeeper } from '../control-plane/taintkeeper.ts';
import { admin, developer, nodeController } from '../control-plane/users.ts';
import { waitUntil } from '../control-plane/wait-until.ts';
import { registerWebhook } from '../control-plane/webhook.ts';
import { allTaintsOf, attempt, GPU, getNode, kubectl, path, type Taint } from './nodes.ts';

const CONTROLLER_TIMEOUT_MS = 20_000;

const policyIn = (mode: string) => `
apiVersion: taintkeeper.dev/v1alpha1
kind: TaintPolicy
metadata: { name: ${mode.toLowerCase()} }
spec:
  mode: ${mode}
  nodeSelector: { matchLabels: { pool: ${mode} } }
  taints:
    - { key: example.com/* }
    - { key: dedicated }
`;

const PROTECTED = 'dedicated=gpu:NoSchedule';
/** Of the domain that the policies protect. */
const TEAM_TEXT = 'example.com/team=a:NoSchedule';
const NOT_READY = 'node.kubernetes.io/not-ready';

describeWithControlPlane(
  'taintkeeper beside the real node controllers',
  { components: ['kube-controller-manager'] },
  (cp) => {
    let taintkeeper: Taintkeeper;

    beforeAll(async () => {
      taintkeeper = await startTaintkeeper({ policies: ['Deny', 'Restore'].map(policyIn).join('---') });
      await registerWebhook(cp(), taintkeeper);
    });
    afterAll(() => taintkeeper?.stop());

    async function register(name: string, pool: string, taints: readonly Taint[]): Promise<void> {
      const body = { metadata: { name, labels: { pool } }, spec: { taints } };
      expect((await cp().request(admin, 'POST', '/api/v1/nodes', { body })).status).toBe(201);
    }

    async function createNode(name: string, pool: string): Promise<void> {
      await register(name, pool, [GPU]);
      await setReady(name, 'True');
    }

    async function setReady(name: string, status: 'True' | 'False'): Promise<void> {
      const heartbeat = new Date().toISOString();
      const body = {
        status: { conditions: [{ type: 'Ready', status, reason: 'Test', lastHeartbeatTime: heartbeat }] },
      };
      await attempt(cp(), admin, 'PATCH', `${path(name)}/status`, body, STRATEGIC_MERGE_PATCH);
    }

    /** Waits for the controller to add or remove its taint, and looks each time whether the protected one is there. */
    const waitForNotReady = (name: string, expected: boolean) =>
      waitUntil(
        async () => {
          const taints = await allTaintsOf(cp(), name);
          expect(taints).toContain(PROTECTED);
          return taints.some((taint) => taint.startsWith(NOT_READY)) === expected ? true : undefined;
        },
        {
          timeoutMs: CONTROLLER_TIMEOUT_MS,
          otherwise: () => `${name}: ${NOT_READY} is not ${expected ? 'there' : 'gone'}`,
        },
      );

    it.each(['Deny', 'Restore'])(
      'the node controllers set and remove the not-ready taint next to a protected one: %s',
      async (mode) => {
        const name = `ready-${mode.toLowerCase()}`;
        await createNode(name, mode);
        await waitForNotReady(name, false);
        await setReady(name, 'False');
        await waitForNotReady(name, true);
        await setReady(name, 'True');
        await waitForNotReady(name, false);
      },
    );

    it.each(['Deny', 'Restore'])(
      'a node that flaps between Ready and NotReady, with a stale writer, keeps taints of exact keys and of domains: %s',
      async (mode) => {
        const name = `flaps-${mode.toLowerCase()}`;
        await createNode(name, mode);
        await waitForNotReady(name, false);
        const stale = (await getNode(cp(), name)).spec.taints ?? [];
        await kubectl(cp(), admin, ['taint', 'node', name, TEAM_TEXT]);
        for (let round = 0; round < 3; round++) {
          await setReady(name, 'False');
          await waitForNotReady(name, true);
          await setReady(name, 'True');
          // The copy is from before the team's taint, and without what the node controllers have set since.
          const mark = { key: 'example.com/mark', value: `${round}`, effect: 'PreferNoSchedule' };
          for (const taints of [[...stale, mark], [mark], []]) {
            await attempt(cp(), developer, 'PATCH', path(name), { spec: { taints } }, STRATEGIC_MERGE_PATCH);
            expect(await allTaintsOf(cp(), name)).toEqual(expect.arrayContaining([PROTECTED, TEAM_TEXT]));
          }
          await waitForNotReady(name, false);
        }
      },
    );

    it.each(['Deny', 'Restore'])(
      'the startup taints of an unknown agent are removed at once, before and after the controllers remove not-ready: %s',
      async (mode) => {
        const name = `starts-${mode.toLowerCase()}`;
        const boot = (key: string): Taint => ({ key: `boot.example.org/${key}`, effect: 'NoSchedule' });
        await register(name, mode, [GPU, boot('network'), boot('driver')]);
        const remove = (key: string) => kubectl(cp(), developer, ['taint', 'node', name, `boot.example.org/${key}-`]);
        await setReady(name, 'False');
        await waitForNotReady(name, true);
        expect(await remove('network')).toEqual({ passed: true, error: '', warnings: [] });
        await setReady(name, 'True');
        await waitForNotReady(name, false);
        expect(await remove('driver')).toEqual({ passed: true, error: '', warnings: [] });
        // The controllers set one taint for each effect, in loops of their own: the other one may still come and go.
        expect((await allTaintsOf(cp(), name)).filter((taint) => !taint.startsWith(NOT_READY))).toEqual([PROTECTED]);
      },
    );

    it('a write from a stale copy loses nothing that Restore protects, and does its own work', async () => {
      // Kubernetes 1.20: the node life cycle controller wrote the whole list from its cache, without a resourceVersion.
      const name = 'stale';
      await createNode(name, 'Restore');
      await waitForNotReady(name, false);
      const stale = await getNode(cp(), name);
      await kubectl(cp(), admin, ['taint', 'node', name, 'example.com/added=later:NoExecute']);

      const marked = [...(stale.spec.taints ?? []), { key: 'example.com/mark', effect: 'PreferNoSchedule' }];
      const patch = { spec: { taints: marked } };
      const written = await attempt(cp(), nodeController, 'PATCH', path(name), patch, STRATEGIC_MERGE_PATCH);

      expect(written).toMatchObject({
        passed: true,
        warnings: [expect.stringContaining('example.com/added=later:NoExecute')],
      });
      expect(await allTaintsOf(cp(), name)).toEqual([
        PROTECTED,
        'example.com/mark:PreferNoSchedule',
        'example.com/added=later:NoExecute',
      ]);
    });

    it('nothing that the controllers do is refused', async () => {
      const denied = taintkeeper
        .logs()
        .filter(({ result, user }) => result === 'Denied' && String(user).startsWith('system:'));
      expect(denied).toEqual([]);
      expect(cp().logs('kube-controller-manager')).not.toContain('denied the request');
    });
  },
);
