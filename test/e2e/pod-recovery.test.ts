import { afterAll, beforeAll, expect, it } from 'vitest';
import type { RecoveryPolicySpec } from '../../src/policy/recovery-policy.ts';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { WITH_KUBELET } from '../control-plane/kubelets/with-kubelet.ts';
import { taintkeeperAccount } from '../control-plane/replicas.ts';
import { admin } from '../control-plane/users.ts';
import { waitUntil } from '../control-plane/wait-until.ts';
import {
  createForPool,
  type DaemonPods,
  followDaemonPods,
  podDeletions,
  podDeletionTimes,
  restarts,
} from './daemon-pods.ts';
import { setReady } from './daemon-sets.ts';
import { type Installation, install, leaderOf } from './installation.ts';
import { type PolicyObject, policyObject } from './policy-objects.ts';
import { createPolicy, POLICIES_PATH } from './policy-resources.ts';
import { type Recovery, startRecovery } from './start-recovery.ts';

/** Prints how long it took until a pod ran again, side by side. */
const SHOW_FIGURES = process.env.TAINTKEEPER_FIGURES !== undefined;
const NODES = '/api/v1/nodes';
const TIMEOUT_MS = 30_000;
/** Two on which pods run, and one where nobody runs any. */
const [FAILING, STEADY, DEAD] = ['failing', 'steady', 'dead'] as const;

/** What fails sooner than this after it was freed fails at once, also on a machine where the next pod takes a while to run. */
const AT_ONCE_SECONDS = 3;
/** A second freeing comes after twice as long as the first one: whoever waits for longer was left to the back-off. */
const LEFT_MS = 2_000 * AT_ONCE_SECONDS + 1_000;

const HANDED_OVER = ['handed-deleted'] as const;

interface Status {
  readonly matched: number;
  readonly violating: number;
  readonly violators: readonly string[];
}

// A back-off doubles only as it passes, and counts from its beginning: each DaemonSet goes through its own, all at the same time.
describeWithControlPlane(
  'daemon pods stuck in back-off',
  { components: ['kube-controller-manager', 'kube-scheduler', 'kubelets'] },
  (cp) => {
    let installation: Installation;
    let pods: DaemonPods;
    /** After six failures, the back-off is 32 s. */
    let handedOver: Promise<number[][]>;
    const recoveries: Recovery[] = [];

    beforeAll(async () => {
      for (const name of [FAILING, STEADY]) {
        const metadata = { name, labels: { pool: 'alive' }, annotations: WITH_KUBELET };
        await cp().request(admin, 'POST', NODES, { body: { metadata } });
      }
      await cp().request(admin, 'POST', NODES, { body: { metadata: { name: DEAD, labels: { pool: 'dead' } } } });
      await setReady(cp(), DEAD, 'False');
      pods = await followDaemonPods(cp());
      installation = await install(cp(), ['patchDaemonSets', 'recoverPods']);
      await installation.start(['a', 'b']);

      await createDaemonSets(...HANDED_OVER);
      handedOver = Promise.all(HANDED_OVER.map((name) => failOften(name, 6)));
      handedOver.catch(() => {});
    });
    afterAll(async () => {
      await Promise.all(recoveries.map((recovery) => recovery.stop()));
      await pods?.stop();
      await installation?.stop();
    });

    async function createDaemonSets(...names: string[]): Promise<void> {
      for (const name of names) await createForPool(cp(), name, 'alive');
      for (const name of names) for (const node of [FAILING, STEADY]) await pods.waitFor(name, node, 'Running');
    }

    /** How long each time took until there was another pod. */
    async function failOften(name: string, times = 5, node: string = FAILING, phase?: string): Promise<number[]> {
      const took: number[] = [];
      for (let i = 0; i < times; i++) took.push(await pods.failAndWait(name, node, phase));
      return took;
    }

    /** Has the installed leader recover the DaemonSet of that name. */
    async function recover(name: string, spec: Omit<RecoveryPolicySpec, 'daemonSets'> = {}): Promise<void> {
      await waitUntil(async () => (await createPolicy(cp(), recoveryOf(name, spec))).status === 201 || undefined, {
        timeoutMs: TIMEOUT_MS,
        otherwise: () => `RecoveryPolicy ${name} is not taken`,
      });
    }

    /** Has a leader of this process recover it, with less time until a pod counts as stuck. Its rights are those of the installed one. */
    async function recoverSooner(name: string, stuckSeconds: number): Promise<Recovery> {
      const recovery = await startRecovery(cp(), taintkeeperAccount, [recoveryOf(name)], {
        stuckMs: 1_000 * stuckSeconds,
      });
      recoveries.push(recovery);
      return recovery;
    }

    const deletions = (name: string) => podDeletions(cp(), name, taintkeeperAccount.name);

    /** A pod that fails within that time after the last deletion counts as failing again at once: waits until that time is over. */
    async function waitUntilStable(name: string, stuckSeconds: number): Promise<void> {
      const deletedAt = Math.max(...podDeletionTimes(cp(), name, taintkeeperAccount.name));
      await waitUntil(() => Date.now() - deletedAt >= stuckSeconds * 1_000 || undefined, {
        timeoutMs: TIMEOUT_MS,
        otherwise: () => `the last pod of ${name} was deleted at ${new Date(deletedAt).toISOString()}`,
      });
    }

    async function waitForStatus(name: string, expected: (status: Status) => boolean): Promise<void> {
      let last: Status | undefined;
      await waitUntil(
        async () => {
          const path = `${POLICIES_PATH.RecoveryPolicy}/${name}`;
          last = (await cp().request<{ status?: Status }>(admin, 'GET', path)).body.status;
          return (last?.violators && expected(last)) || undefined;
        },
        { timeoutMs: TIMEOUT_MS, otherwise: () => `the status of ${name} is ${JSON.stringify(last)}` },
      );
    }

    async function waitForEvents(daemonSet: string, expected: readonly string[]): Promise<void> {
      const path = '/apis/events.k8s.io/v1/namespaces/kube-system/events';
      const selector = 'fieldSelector=reportingController=taintkeeper.dev/taintkeeper';
      let reasons: string[] = [];
      await waitUntil(
        async () => {
          const { body } = await cp().request<{ items: { reason: string; regarding: { name: string } }[] }>(
            admin,
            'GET',
            `${path}?${selector}`,
          );
          reasons = body.items.filter(({ regarding }) => regarding.name === daemonSet).map(({ reason }) => reason);
          return reasons.toSorted().join() === expected.toSorted().join() || undefined;
        },
        { timeoutMs: TIMEOUT_MS, otherwise: () => `the Events of ${daemonSet} are ${reasons}` },
      );
    }

    it.concurrent('run again after they were stuck for a while, and not when the back-off ends', async () => {
      const names = ['plain', 'deleted', 'audited'];
      await createDaemonSets(...names);
      const [before = [], ...others] = await Promise.all(names.map((name) => failOften(name)));
      const deletedOther = pods.healthy('deleted', STEADY);
      const recovery = await recoverSooner('deleted', 1);
      await recover('audited', { mode: 'Audit' });
      const [plain = 0, deleted = 0] = await Promise.all([
        ...['plain', 'deleted'].map((name) => pods.failAndWait(name, FAILING)),
        pods.fail('audited', FAILING).then(() =>
          waitForStatus('audited', ({ matched, violating, violators: [first = ''] }) => {
            return matched === 1 && violating === 1 && first.startsWith('kube-system/audited-');
          }),
        ),
      ]);

      if (SHOW_FIGURES) process.stderr.write(table(before, { plain, deleted }));
      // It doubles from failure to failure, less what the pod has run meanwhile.
      for (const took of [before, ...others]) {
        for (const [n, ms] of took.slice(2).entries()) expect(ms).toBeGreaterThan(2 ** n * 1_000);
      }
      expect(plain).toBeGreaterThan(12_000);
      expect(deleted).toBeGreaterThan(1_000);
      // They failed at the same time, and so often before.
      expect(deleted).toBeLessThan(plain / 2);
      // The pods of other nodes stay.
      expect(pods.healthy('deleted', STEADY)).toBe(deletedOther);
      expect([deletions('deleted'), await restarts(cp(), 'deleted')]).toEqual([1, 0]);
      expect([deletions('audited'), await restarts(cp(), 'audited')]).toEqual([0, 0]);
      expect(recovery.reasons()).toEqual(['PodFreed']);
      await waitForEvents('audited', ['PodStuck']);
    });

    it.concurrent('are left alone on a node that is not ready, and freed once it is', async () => {
      await createForPool(cp(), 'held', 'dead');
      await pods.waitFor('held', DEAD, 'Pending');
      await recoverSooner('held', 1);
      const before = await failOften('held', 5, DEAD, 'Pending');
      const failed = await pods.fail('held', DEAD);
      expect(deletions('held')).toBe(0);
      const began = performance.now();
      await setReady(cp(), DEAD, 'True');
      await pods.waitFor('held', DEAD, 'Pending', failed);
      const tookMs = performance.now() - began;
      expect(deletions('held')).toBe(1);
      expect(tookMs).toBeGreaterThan(1_000);
      // Sooner than by the last back-off, of which this one's is twice as long.
      expect(tookMs).toBeLessThan(before.at(-1) ?? 0);
    });

    it.concurrent('that fail again after a while are freed three times, each time later', async () => {
      await createDaemonSets('slow');
      await failOften('slow');
      const recovery = await recoverSooner('slow', 1);
      const took: number[] = [];
      for (let i = 0; i < 3; i++) {
        took.push(await pods.failAndWait('slow', FAILING));
        await waitUntilStable('slow', 1);
      }
      await pods.fail('slow', FAILING);
      await waitUntil(() => recovery.reasons().includes('PodFailsAgain') || undefined, {
        timeoutMs: TIMEOUT_MS,
        otherwise: () => `the Events are ${recovery.reasons()}`,
      });
      for (const [n, ms] of took.entries()) expect(ms).toBeGreaterThan(2 ** n * 1_000);
      expect(deletions('slow')).toBe(3);
    });

    it.concurrent('that fail again at once are freed once, reported, and then left to the back-off', async () => {
      await createDaemonSets('always-deleted');
      const recovery = await recoverSooner('always-deleted', AT_ONCE_SECONDS);
      const count = await failUntilLeft('always-deleted');
      if (SHOW_FIGURES) process.stderr.write(`failed ${count} times, freed once\n`);
      expect([deletions('always-deleted'), await restarts(cp(), 'always-deleted')]).toEqual([1, 0]);
      expect(recovery.reasons().slice(0, 2)).toEqual(['PodFreed', 'PodFailsAgain']);
    });

    /** Has the pod fail as soon as it runs, until one after the freed one was left alone for long. Says how often it failed. */
    async function failUntilLeft(name: string): Promise<number> {
      for (let count = 1; ; count++) {
        const wasFreed = deletions(name) > 0;
        const tookMs = await pods.failAndWait(name, FAILING);
        if (wasFreed && tookMs > LEFT_MS) return count;
      }
    }

    it.concurrent('are freed exactly once where two leaders believe in themselves', async () => {
      const names = ['twice-deleted'];
      await createDaemonSets(...names);
      await Promise.all(names.map((name) => failOften(name)));
      const policies = [recoveryOf('twice-deleted')];
      const leaders = await Promise.all([1, 2].map(() => startRecovery(cp(), admin, policies, { stuckMs: 1_000 })));
      try {
        const uids = await Promise.all(names.map((name) => pods.fail(name, FAILING)));
        await Promise.all(names.map((name, index) => pods.waitFor(name, FAILING, 'Running', uids[index])));
        // Also the one that was refused, which looks again a second later, then has nothing left to free.
        const isOurs = (pod: string) => names.some((name) => pod.startsWith(`kube-system/${name}-`));
        const isDone = ({ seen, stuck }: Recovery) =>
          seen().filter(isOurs).length === names.length && !stuck().some(isOurs);
        await waitUntil(() => leaders.every(isDone) || undefined, {
          timeoutMs: TIMEOUT_MS,
          otherwise: () => `stuck are, or were: ${JSON.stringify(leaders.map(({ seen, stuck }) => [stuck(), seen()]))}`,
        });
        expect(podDeletions(cp(), 'twice-deleted', admin.name)).toBe(1);
      } finally {
        await Promise.all(leaders.map((leader) => leader.stop()));
      }
    });

    it('are freed exactly once when the leader is killed in the middle', async () => {
      const backOffs = (await handedOver).map((took) => took.at(-1) ?? 0);
      await recover('handed-deleted');
      for (const name of HANDED_OVER) await waitForStatus(name, ({ matched }) => matched === 1);
      const leader = installation.replica(await leaderOf(cp()));
      const looks = async () => {
        const pattern = /^taintkeeper_reconciliations_total\{controller="pod-recovery",result="ok"\} (\d+)$/m;
        return Number(pattern.exec(await leader.metrics())?.[1]);
      };
      const before = await looks();
      const began = performance.now();
      const uids = await Promise.all(HANDED_OVER.map((name) => pods.fail(name, FAILING)));
      await waitUntil(async () => (await looks()) >= before + HANDED_OVER.length || undefined, {
        timeoutMs: TIMEOUT_MS,
        otherwise: () => 'the leader has not checked the pods',
      });
      await installation.kill(leader.name);
      expect(deletions('handed-deleted')).toBe(0);
      await Promise.all(HANDED_OVER.map((name, index) => pods.waitFor(name, FAILING, 'Running', uids[index])));
      // The next leader waits for ten seconds; the back-off is 32 s, which is twice as long as the one before.
      expect(performance.now() - began).toBeLessThan(2 * Math.min(...backOffs));
      expect(await leaderOf(cp())).not.toBe(leader.name);
      expect([deletions('handed-deleted'), await restarts(cp(), 'handed-deleted')]).toEqual([1, 0]);
      await waitForEvents('handed-deleted', ['PodFreed']);
    });
  },
);

/** For the DaemonSet of the same name. */
function recoveryOf(name: string, spec: Omit<RecoveryPolicySpec, 'daemonSets'> = {}): PolicyObject {
  return policyObject('RecoveryPolicy', name, {
    daemonSets: { namespaces: ['kube-system'], names: [name] },
    ...spec,
  });
}

/** Seconds from a failure to the next running pod: of the failures while there was no policy, and of the one after. */
function table(before: readonly number[], sixth: Readonly<Record<string, number>>): string {
  const seconds = (all: readonly number[]) => all.map((ms) => (ms / 1_000).toFixed(1)).join(', ');
  const rows = Object.entries(sixth).map(([how, ms]) => `the 6th time, ${how}: ${seconds([ms])} s\n`);
  return `the first 5 times: ${seconds(before)} s\n${rows.join('')}`;
}
