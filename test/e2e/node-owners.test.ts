import { afterAll, beforeAll, expect, it } from 'vitest';
import { makeClusterAdmin } from '../control-plane/cluster-admin.ts';
import { MERGE_PATCH } from '../control-plane/content-types.ts';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { admin, node, serviceAccount, type User } from '../control-plane/users.ts';
import { waitUntil } from '../control-plane/wait-until.ts';
import { setReady } from './daemon-sets.ts';
import { createTaintPolicy, waitUntilRestored } from './drift.ts';
import { type Installation, install } from './installation.ts';
import { type Attempt, allTaintsOf, attempt, GPU, getNode, kubectl, path, type Taint } from './nodes.ts';

const karpenter = serviceAccount('kube-system', 'karpenter');
const autoscaler = serviceAccount('kube-system', 'cluster-autoscaler');
const TIMEOUT_MS = 30_000;
const GPU_TEXT = 'dedicated=gpu:NoSchedule';
/** Of the domain of Karpenter's labels, which users taint as well. */
const TEAM: Taint = { key: 'karpenter.sh/team', value: 'a', effect: 'NoSchedule' };
const TEAM_TEXT = 'karpenter.sh/team=a:NoSchedule';
const STARTUP: Taint = { key: 'startup-taint.cluster-autoscaler.kubernetes.io/driver', effect: 'NoSchedule' };
const UNREGISTERED: Taint = { key: 'karpenter.sh/unregistered', effect: 'NoExecute' };
const UNSCHEDULABLE = 'node.kubernetes.io/unschedulable:NoSchedule';

describeWithControlPlane(
  'what autoscalers and administrators do to nodes, beside policies in mode Restore',
  { components: ['kube-controller-manager'], nodeMonitorGraceSeconds: 600 },
  (cp) => {
    let installation: Installation;

    beforeAll(async () => {
      installation = await install(cp());
      await installation.start(['a']);
      await makeClusterAdmin(cp(), 'Group', 'system:serviceaccounts:kube-system');
      await createTaintPolicy(cp(), 'pool', {
        taints: [
          { ...GPU, ensure: 'Always' },
          { key: 'karpenter.sh/*' },
          {
            key: 'startup-taint.cluster-autoscaler.kubernetes.io/driver',
            effect: 'NoSchedule',
            ensure: 'AtRegistration',
          },
        ],
      });
      await register('probe', []);
      await waitUntilRestored(cp(), 'probe', GPU.key);
    });
    afterAll(() => installation?.stop());

    async function register(name: string, taints: readonly Taint[]): Promise<void> {
      const body = { metadata: { name, labels: { pool: 'pool' } }, spec: { taints } };
      expect((await attempt(cp(), node(name), 'POST', '/api/v1/nodes', body)).error).toBe('');
    }

    /** The whole list from what the client read, with its version, and again after a conflict with the controller manager: as clients of Go do. */
    const change = (user: User, name: string, of: (taints: readonly Taint[]) => readonly Taint[]): Promise<Attempt> =>
      waitUntil(
        async () => {
          const { metadata, spec } = await getNode(cp(), name);
          const { resourceVersion } = metadata;
          const body = { metadata: { resourceVersion }, spec: { taints: of(spec.taints ?? []) } };
          const made = await attempt(cp(), user, 'PATCH', path(name), body, MERGE_PATCH);
          return made.error.includes('the object has been modified') ? undefined : made;
        },
        { timeoutMs: TIMEOUT_MS, otherwise: () => `${name} is written all the time` },
      );

    const without = (key: string) => (taints: readonly Taint[]) => taints.filter((one) => one.key !== key);
    const OK: Attempt = { passed: true, error: '', warnings: [] };

    it('Karpenter registers a node: it takes its own taint away, and adds those of the NodePool', async () => {
      await register('karpenter', [UNREGISTERED]);
      expect(await allTaintsOf(cp(), 'karpenter')).toEqual(
        expect.arrayContaining(['karpenter.sh/unregistered:NoExecute', GPU_TEXT, `${STARTUP.key}:NoSchedule`]),
      );
      expect(await change(karpenter, 'karpenter', (taints) => [...without(UNREGISTERED.key)(taints), TEAM])).toEqual(
        OK,
      );
      // The driver, whose taint it is.
      expect(await change(karpenter, 'karpenter', without(STARTUP.key))).toEqual(OK);
      // Karpenter is about to delete the node, and changes its mind.
      const disrupted = { key: 'karpenter.sh/disrupted', effect: 'NoSchedule' };
      expect(await change(karpenter, 'karpenter', (taints) => [...taints, disrupted])).toEqual(OK);
      expect(await change(karpenter, 'karpenter', without(disrupted.key))).toEqual(OK);
      const kept = await allTaintsOf(cp(), 'karpenter');
      expect(kept.filter((taint) => !taint.startsWith('node.kubernetes.io/')).toSorted()).toEqual([
        GPU_TEXT,
        TEAM_TEXT,
      ]);
    });

    it.each(['DeletionCandidateOfClusterAutoscaler', 'ToBeDeletedByClusterAutoscaler'])(
      'Cluster Autoscaler sets %s, sets a later time, and removes it',
      async (key) => {
        const name = key.toLowerCase();
        await register(name, [TEAM]);
        const effect = key.startsWith('Deletion') ? 'PreferNoSchedule' : 'NoSchedule';
        for (const value of ['1795860000', '1795860600']) {
          const mark = { key, value, effect };
          expect(await change(autoscaler, name, (taints) => [...without(key)(taints), mark])).toEqual(OK);
        }
        expect(await change(autoscaler, name, without(key))).toEqual(OK);
        expect(await allTaintsOf(cp(), name)).toEqual(expect.arrayContaining([GPU_TEXT, TEAM_TEXT]));
      },
    );

    it('kubectl cordons a node, drains it, and uncordons it', async () => {
      await register('cordoned', [TEAM]);
      await setReady(cp(), 'cordoned');
      const isCordoned = (expected: boolean) =>
        expect
          .poll(async () => (await allTaintsOf(cp(), 'cordoned')).includes(UNSCHEDULABLE), { timeout: TIMEOUT_MS })
          .toBe(expected);
      for (const args of [['cordon'], ['drain', '--ignore-daemonsets']]) {
        expect(await kubectl(cp(), admin, [args[0] ?? '', 'cordoned', ...args.slice(1)])).toEqual(OK);
        await isCordoned(true);
      }
      expect(await kubectl(cp(), admin, ['uncordon', 'cordoned'])).toEqual(OK);
      await isCordoned(false);
      expect(await allTaintsOf(cp(), 'cordoned')).toEqual(expect.arrayContaining([GPU_TEXT, TEAM_TEXT]));
    });

    it('nothing of it was refused', () => {
      expect(cp().logs('kube-controller-manager')).not.toContain('denied the request');
    });
  },
);
