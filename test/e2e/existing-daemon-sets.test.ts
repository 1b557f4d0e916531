import { afterAll, beforeAll, expect, it } from 'vitest';
import type { PolicyStatus } from '../../src/policy/reporting/policy-status.ts';
import { APPLY_PATCH, MERGE_PATCH } from '../control-plane/content-types.ts';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import type { Replica } from '../control-plane/replicas.ts';
import { admin } from '../control-plane/users.ts';
import { waitUntil } from '../control-plane/wait-until.ts';
import { FLANNEL_AFTER_PR_1907, MASTER } from '../unit/judge/request/daemon-set-cases.ts';
import {
  countWrites,
  createFakeNode,
  createSilentNode,
  type DaemonSet,
  daemonSetPath,
  flannelManifest,
  getDaemonSet,
  isAvailable,
  nodesWithPods,
  runFlannel,
  runPodsOf,
  toleratesMaster,
  waitForDaemonSet,
  writtenDaemonSets,
} from './daemon-sets.ts';
import { type Installation, install, leaderOf } from './installation.ts';
import { policyObject } from './policy-objects.ts';
import { createPolicy, POLICIES_PATH } from './policy-resources.ts';

const ADDED = 'taintkeeper.dev/tolerations-added';
const TIMEOUT_MS = 45_000;
const MASTER_TAINT = { key: MASTER.key, effect: 'NoSchedule' };
const CONTROL_PLANE_TAINT = { key: 'node-role.kubernetes.io/control-plane', effect: 'NoSchedule' };
const MAIN = { nodeSelector: { pool: 'main' } };

describeWithControlPlane(
  'DaemonSets that already run',
  { components: ['kube-controller-manager', 'kube-scheduler', 'kubelets'], nodeMonitorGraceSeconds: 600 },
  (cp) => {
    let installation: Installation;
    let replicas: Replica[];

    beforeAll(async () => {
      for (const name of ['conflict', 'kube-flannel', 'rollout'])
        await cp().request(admin, 'POST', '/api/v1/namespaces', { body: { metadata: { name } } });
      await createFakeNode(cp(), 'master', [MASTER_TAINT]);
      await createFakeNode(cp(), 'control-plane', [CONTROL_PLANE_TAINT]);
      await createFakeNode(cp(), 'both', [MASTER_TAINT, CONTROL_PLANE_TAINT]);
      await createFakeNode(cp(), 'worker', []);
      await runFlannel(cp(), 'kube-flannel', 'kube-flannel-ds', MAIN);
      installation = await install(cp(), ['patchDaemonSets']);
      replicas = await installation.start(['a', 'b']);
      // Without a way to them, they register no webhook: nobody stands by when a toleration is taken out.
      for (const { name } of replicas) installation.proxy.remove(name);
    });
    afterAll(() => installation.stop());

    const patchAll = async (name: string, namespace: string) => {
      const spec = { mode: 'Mutate', daemonSets: { namespaces: [namespace] }, existing: 'Patch' };
      expect((await createPolicy(cp(), policyObject('TolerationPolicy', name, spec))).status).toBe(201);
    };

    const leader = () =>
      waitUntil(async () => installation.replicas.get(await leaderOf(cp())), {
        timeoutMs: TIMEOUT_MS,
        otherwise: () => 'no replica leads',
      });

    async function metric(pattern: RegExp): Promise<number> {
      const [, value = '0'] = pattern.exec(await (await leader()).metrics()) ?? [];
      return Number(value);
    }

    /** Waits until the leader has looked at all DaemonSets once more, from the state that there is now. */
    async function waitForLook(): Promise<void> {
      const lastLook = () => metric(/^taintkeeper_sweep_timestamp_seconds\{controller="daemon-set-patching"\} (.*)$/m);
      for (const round of [1, 2]) {
        const before = await lastLook();
        await cp().request(admin, 'PATCH', daemonSetPath('kube-flannel', 'kube-flannel-ds'), {
          body: { metadata: { labels: { looked: `${round}-${before}` } } },
          contentType: MERGE_PATCH,
        });
        await waitUntil(async () => ((await lastLook()) > before ? true : undefined), {
          timeoutMs: TIMEOUT_MS,
          otherwise: () => 'the leader does not look any more',
        });
      }
    }

    /** @param expected 0 when nothing of the policy is stalled any more */
    const waitForStall = (policy: string, expected = 1) =>
      waitUntil(
        async () => {
          const labels = `kind="TolerationPolicy",policy="${policy}",reason="TolerationMissing"`;
          return (await metric(new RegExp(`^taintkeeper_stalled\\{${labels}\\} (.*)$`, 'm'))) === expected || undefined;
        },
        {
          timeoutMs: TIMEOUT_MS,
          otherwise: () => `TolerationPolicy ${policy} is ${expected === 1 ? 'not' : 'still'} stalled`,
        },
      );

    /** As often as the DaemonSet tolerates `master`, it is written without, until stopped. */
    function startManager(name: string, write: (daemonSet: DaemonSet) => Promise<unknown>) {
      let stopped = false;
      let writes = 0;
      const running = (async () => {
        while (!stopped) {
          await waitUntil(
            async () => (stopped || toleratesMaster(await getDaemonSet(cp(), 'conflict', name)) ? true : undefined),
            {
              timeoutMs: 120_000,
              otherwise: () => `${name} is never patched`,
            },
          );
          if (stopped) return;
          await write(await getDaemonSet(cp(), 'conflict', name));
          writes++;
        }
      })();
      return {
        writes: () => writes,
        stop: () => {
          stopped = true;
          return running;
        },
      };
    }

    const managerPath = (name: string, manager: string) => `${daemonSetPath('conflict', name)}?fieldManager=${manager}`;
    let managers: ReturnType<typeof startManager>[] = [];

    it('one that another writer reverts is patched once, and reported', async () => {
      await runFlannel(cp(), 'conflict', 'merged', MAIN);
      await runFlannel(cp(), 'conflict', 'replaced', MAIN);
      const original = await getDaemonSet(cp(), 'conflict', 'replaced');
      managers = [
        startManager('merged', () => {
          const body = { spec: { template: { spec: { tolerations: FLANNEL_AFTER_PR_1907 } } } };
          return cp().request(admin, 'PATCH', managerPath('merged', 'merging-operator'), {
            body,
            contentType: MERGE_PATCH,
          });
        }),
        startManager('replaced', () => {
          // The annotation goes, too.
          const { name, namespace } = original.metadata;
          const body = { ...original, metadata: { name, namespace } };
          return cp().request(admin, 'PUT', managerPath('replaced', 'replacing-operator'), { body });
        }),
      ];
      await patchAll('conflict', 'conflict');
      for (const manager of managers)
        await waitUntil(() => (manager.writes() > 0 ? true : undefined), {
          timeoutMs: TIMEOUT_MS,
          otherwise: () => 'it is not patched',
        });
      await waitForStall('conflict');
      const replica = await leader();
      for (const manager of ['merging-operator', 'replacing-operator'])
        await replica.waitForLog(({ msg }) => msg.includes(`field manager "${manager}" (Update at 20`));
      await waitForLook();
      expect(managers.map((manager) => manager.writes())).toEqual([1, 1]);
      await expect
        .poll(() => ['merged', 'replaced'].map((name) => countWrites(cp(), 'conflict', name)))
        .toEqual([1, 1]);
    });

    it('one that another writer reverted is no longer reported once its manifest has the toleration', async () => {
      for (const manager of managers) await manager.stop();
      for (const name of ['merged', 'replaced']) {
        const body = { spec: { template: { spec: { tolerations: [...FLANNEL_AFTER_PR_1907, MASTER] } } } };
        await cp().request(admin, 'PATCH', managerPath(name, 'admin'), { body, contentType: MERGE_PATCH });
      }
      await waitForStall('conflict', 0);
    });

    it('Flannel in a mixed cluster gets a pod on every node', async () => {
      for (const replica of replicas) installation.proxy.add(replica);
      await installation.proxy.waitForReady('a', 'b');
      expect(await nodesWithPods(cp(), 'kube-flannel', 'kube-flannel-ds')).toEqual(['control-plane', 'worker']);

      await patchAll('flannel', 'kube-flannel');
      const { metadata, spec } = await waitForDaemonSet(
        cp(),
        'kube-flannel',
        'kube-flannel-ds',
        (daemonSet) => daemonSet.status.desiredNumberScheduled === 4 && isAvailable(daemonSet),
      );
      expect(await nodesWithPods(cp(), 'kube-flannel', 'kube-flannel-ds')).toEqual([
        'both',
        'control-plane',
        'master',
        'worker',
      ]);
      expect(spec.template.spec.tolerations).toEqual([...FLANNEL_AFTER_PR_1907, MASTER]);
      expect(metadata.annotations?.[ADDED]).toMatch(/^node-role\.kubernetes\.io\/master:NoSchedule(; by \S+)?$/);
      await expect.poll(() => countWrites(cp(), 'kube-flannel', 'kube-flannel-ds')).toBe(1);
      expect(await metric(/^taintkeeper_repairs_total\{kind="DaemonSet",policy="flannel"\} (.*)$/m)).toBe(1);
      await waitForEvents('TolerationAdded', [
        'DaemonSet kube-flannel/kube-flannel-ds: added toleration node-role.kubernetes.io/master:NoSchedule while it ran',
        'TolerationPolicy flannel: added toleration node-role.kubernetes.io/master:NoSchedule while it ran',
      ]);
    });

    const apply = (query: string) =>
      cp().request<DaemonSet>(admin, 'PATCH', `${daemonSetPath('kube-flannel', 'kube-flannel-ds')}?${query}`, {
        body: flannelManifest('kube-flannel', 'kube-flannel-ds', MAIN),
        contentType: APPLY_PATCH,
      });

    it('and its manifest, applied on the server as Helm 4 does, is in conflict until it is forced once, which restarts nothing', async () => {
      const { metadata } = await getDaemonSet(cp(), 'kube-flannel', 'kube-flannel-ds');
      await waitForWebhook();
      const { status, body } = await apply('fieldManager=helm');
      expect({ status, text: JSON.stringify(body) }).toEqual({
        status: 409,
        text: expect.stringMatching(/conflict with \\"taintkeeper\\".*\.spec\.template\.spec\.tolerations/),
      });
      for (const force of ['&force=true', '']) {
        const applied = await apply(`fieldManager=helm${force}`);
        expect({ status: applied.status, generation: applied.body.metadata.generation }).toEqual({
          status: 200,
          generation: metadata.generation,
        });
      }
      expect(await getDaemonSet(cp(), 'kube-flannel', 'kube-flannel-ds')).toSatisfy(toleratesMaster);
    });

    it('and its manifest, applied on the server again and again as Flux does, changes nothing', async () => {
      const { metadata } = await getDaemonSet(cp(), 'kube-flannel', 'kube-flannel-ds');
      for (let round = 0; round < 2; round++)
        expect((await apply('fieldManager=flux&force=true')).body.metadata.generation).toBe(metadata.generation);
      expect(await getDaemonSet(cp(), 'kube-flannel', 'kube-flannel-ds')).toSatisfy(toleratesMaster);
    });

    /** From when on the webhook is called, and a dry run therefore finds nothing to correct. */
    async function waitForWebhook(): Promise<void> {
      const isCalled = async () => toleratesMaster((await apply('fieldManager=flux&force=true&dryRun=All')).body);
      await waitUntil(async () => ((await isCalled()) ? true : undefined), {
        timeoutMs: TIMEOUT_MS,
        otherwise: () => 'the webhook is not called',
      });
    }

    /** What the status of the policy says that it has patched. */
    async function patchedBy(policy: string): Promise<string[]> {
      const path = `${POLICIES_PATH.TolerationPolicy}/${policy}`;
      const { body } = await cp().request<{ status?: PolicyStatus }>(admin, 'GET', path);
      return (body.status?.patched ?? []).map(({ namespace, name }) => `${namespace}/${name}`);
    }

    async function waitForEvents(reason: string, notes: readonly string[]): Promise<void> {
      let last: string[] = [];
      await waitUntil(
        async () => {
          const url = '/apis/events.k8s.io/v1/events';
          const { body } = await cp().request<{ items: { reason: string; note: string }[] }>(admin, 'GET', url);
          last = body.items.filter((event) => event.reason === reason).map(({ note }) => note);
          return notes.every((note) => last.includes(note)) ? true : undefined;
        },
        { timeoutMs: TIMEOUT_MS, otherwise: () => `Events ${reason}: ${JSON.stringify(last)}` },
      );
    }

    it('are patched one at a time, each once, across a change of leader, and never one that opts out', async () => {
      await createSilentNode(cp(), 'silent', [MASTER_TAINT]);
      await runFlannel(cp(), 'rollout', 'a-stuck');
      await runFlannel(cp(), 'rollout', 'a-opted-out', {
        ...MAIN,
        annotations: { 'taintkeeper.dev/ignore': 'true' },
      });
      await runFlannel(cp(), 'rollout', 'b', MAIN);
      await runFlannel(cp(), 'rollout', 'c', MAIN);
      const written = () => writtenDaemonSets(cp(), 'rollout');

      await patchAll('rollout', 'rollout');
      // Its pod on the silent node never runs.
      await waitForDaemonSet(cp(), 'rollout', 'a-stuck', ({ metadata, status }) => {
        return metadata.generation === 2 && status.observedGeneration === 2 && status.numberUnavailable === 1;
      });
      await waitForLook();
      await expect.poll(written).toEqual(['a-stuck']);

      await installation.kill((await leader()).name);
      await leader();
      await waitForLook();
      await expect.poll(written).toEqual(['a-stuck']);

      await runPodsOf(cp(), 'silent');
      await waitForDaemonSet(cp(), 'rollout', 'b', toleratesMaster);
      expect(isAvailable(await getDaemonSet(cp(), 'rollout', 'a-stuck'))).toBe(true);
      await waitForDaemonSet(cp(), 'rollout', 'c', toleratesMaster);
      expect(isAvailable(await getDaemonSet(cp(), 'rollout', 'b'))).toBe(true);
      await waitForLook();
      await expect.poll(written).toEqual(['a-stuck', 'b', 'c']);
    }, 120_000);

    it('one that its owner replaces while taintkeeper is down is not patched again by the next leader', async () => {
      await cp().request(admin, 'POST', '/api/v1/namespaces', { body: { metadata: { name: 'replaced' } } });
      await runFlannel(cp(), 'replaced', 'flannel', MAIN);
      const { metadata, spec } = await getDaemonSet(cp(), 'replaced', 'flannel');
      await patchAll('replaced', 'replaced');
      await waitForDaemonSet(cp(), 'replaced', 'flannel', toleratesMaster);
      await waitUntil(async () => ((await patchedBy('replaced')).includes('replaced/flannel') ? true : undefined), {
        timeoutMs: TIMEOUT_MS,
        otherwise: () => 'the status of the policy does not name it',
      });

      await installation.kill();
      // As kubectl replace: what is not in the file goes, our annotation among it.
      const body = { metadata: { name: metadata.name, namespace: metadata.namespace }, spec };
      expect((await cp().request(admin, 'PUT', daemonSetPath('replaced', 'flannel'), { body })).status).toBe(200);
      expect(await getDaemonSet(cp(), 'replaced', 'flannel')).not.toSatisfy(toleratesMaster);

      await installation.start(['after-the-outage']);
      await waitForLook();
      await waitForStall('replaced');
      expect(countWrites(cp(), 'replaced', 'flannel')).toBe(1);
    }, 120_000);
  },
);
