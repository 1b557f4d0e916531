import { afterAll, beforeAll, expect, it } from 'vitest';
import type { RecoveryPolicySpec } from '../../src/policy/recovery-policy.ts';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { WITH_KUBELET } from '../control-plane/kubelets/with-kubelet.ts';
import { taintkeeperAccount } from '../control-plane/replicas.ts';
import { admin, serviceAccount } from '../control-plane/users.ts';
import { waitUntil } from '../control-plane/wait-until.ts';
import { createForPool, type DaemonPods, followDaemonPods, podDeletionTimes, restarts } from './daemon-pods.ts';
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

/** What fails sooner than this after it was freed fails at once, also on a machine where the next pod takes some seconds to run. */
const AT_ONCE_SECONDS = 5;
/** A second freeing comes after twice as long as the first one: a pod that stays Failed for longer is left to the back-off. */
const LEFT_MS = 2_000 * AT_ONCE_SECONDS + 1_000;

/** By how much the API server may get the first of two requests later than the second one. */
const LATE_MS = 4_000;

const daemonSetController = serviceAccount('kube-system', 'daemon-set-controller');

const HANDED_OVER = ['handed-deleted'] as const;
/** Five of their pods fail before the tests: after that, the back-off is 16 s. */
const BACKED_OFF = ['plain', 'deleted', 'audited', 'slow', 'twice-deleted', ...HANDED_OVER] as const;

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
    /** How long these five failures took, by DaemonSet. */
    const before = new Map<string, readonly number[]>();
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

      await createDaemonSets(...BACKED_OFF);
      await Promise.all(BACKED_OFF.map(async (name) => before.set(name, await failOften(name))));
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

    /** How many pods of the DaemonSet the user has deleted. Waits for as many as expected: the audit log may show a deletion late. */
    async function deletions(name: string, expected: number, user = taintkeeperAccount): Promise<number> {
      return (await deletionTimes(name, expected, user)).length;
    }

    function deletionTimes(name: string, least: number, user = taintkeeperAccount): Promise<number[]> {
      const times = () => podDeletionTimes(cp(), name, user.name);
      return waitUntil(() => (times().length >= least ? times() : undefined), {
        timeoutMs: TIMEOUT_MS,
        otherwise: () => `${user.name} has deleted ${times().length} pods of ${name}, not ${least}`,
      });
    }

    /**
     * A pod that fails within that time after the last deletion counts as failing again at once: waits until that time is over.
     * @param deleted how many pods were deleted until now
     */
    async function waitUntilStable(name: string, stuckSeconds: number, deleted: number): Promise<void> {
      const deletedAt = Math.max(...(await deletionTimes(name, deleted)));
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

    // The first two need the back-off of 16 s that has just begun: Vitest runs five tests at the same time.
    it.concurrent('run again after they were stuck for a while, and not when the back-off ends', async () => {
      const names = ['plain', 'deleted'];
      const deletedOther = pods.healthy('deleted', STEADY);
      const recovery = await recoverSooner('deleted', 1);
      const [plain = 0, deleted = 0] = await Promise.all(names.map((name) => pods.failAndWait(name, FAILING)));

      if (SHOW_FIGURES) process.stderr.write(table(before.get('plain') ?? [], { plain, deleted }));
      // The back-off doubles from deletion to deletion: the last two came after 8 s and 16 s.
      const times = await deletionTimes('plain', 6, daemonSetController);
      const gaps = times.slice(1).map((time, n) => time - (times[n] ?? 0));
      expect(gaps).toHaveLength(5);
      for (const [n, ms] of gaps.slice(-2).entries()) expect(ms).toBeGreaterThan(8_000 * 2 ** n - LATE_MS);
      expect(deleted).toBeGreaterThan(1_000);
      // They failed at the same time, and so often before.
      expect(deleted).toBeLessThan((gaps.at(-1) ?? 0) / 2);
      expect(await deletions('deleted', 5, daemonSetController)).toBe(5);
      // The pods of other nodes stay.
      expect(pods.healthy('deleted', STEADY)).toBe(deletedOther);
      expect([await deletions('deleted', 1), await restarts(cp(), 'deleted')]).toEqual([1, 0]);
      expect(recovery.reasons()).toEqual(['PodFreed']);
    });

    it.concurrent('are freed exactly once where two leaders believe in themselves', async () => {
      const names = ['twice-deleted'];
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
        expect(await deletions('twice-deleted', 1, admin)).toBe(1);
      } finally {
        await Promise.all(leaders.map((leader) => leader.stop()));
      }
    });

    it.concurrent('are reported and not freed by a policy in mode Audit', async () => {
      // The back-off is 32 s now. The leader reports a pod after ten seconds.
      await failOften('audited', 1);
      await recover('audited', { mode: 'Audit' });
      await pods.fail('audited', FAILING);
      await waitForStatus('audited', ({ matched, violating, violators: [violator = ''] }) => {
        return matched === 1 && violating === 1 && violator.startsWith('kube-system/audited-');
      });
      expect([await deletions('audited', 0), await restarts(cp(), 'audited')]).toEqual([0, 0]);
      await waitForEvents('audited', ['PodStuck']);
    });

    it.concurrent('are left alone on a node that is not ready, and freed once it is', async () => {
      await createForPool(cp(), 'held', 'dead');
      await pods.waitFor('held', DEAD, 'Pending');
      await recoverSooner('held', 1);
      await failOften('held', 5, DEAD, 'Pending');
      const failed = await pods.fail('held', DEAD);
      expect(await deletions('held', 0)).toBe(0);
      const began = performance.now();
      await setReady(cp(), DEAD, 'True');
      await pods.waitFor('held', DEAD, 'Pending', failed);
      const tookMs = performance.now() - began;
      expect(await deletions('held', 1)).toBe(1);
      expect(tookMs).toBeGreaterThan(1_000);
      // Before the back-off ended: the controller has deleted the five before.
      expect(await deletions('held', 5, daemonSetController)).toBe(5);
    });

    it.concurrent('that fail again after a while are freed three times, each time later', async () => {
      // The back-off is 32 s now, and must not end before the third one is freed.
      await failOften('slow', 1);
      const recovery = await recoverSooner('slow', 1);
      const took: number[] = [];
      for (let i = 0; i < 3; i++) {
        took.push(await pods.failAndWait('slow', FAILING));
        await waitUntilStable('slow', 1, i + 1);
      }
      await pods.fail('slow', FAILING);
      await waitUntil(() => recovery.reasons().includes('PodFailsAgain') || undefined, {
        timeoutMs: TIMEOUT_MS,
        otherwise: () => `the Events are ${recovery.reasons()}`,
      });
      for (const [n, ms] of took.entries()) expect(ms).toBeGreaterThan(2 ** n * 1_000);
      expect(await deletions('slow', 3)).toBe(3);
    });

    it.concurrent('that fail again at once are freed once, reported, and then left to the back-off', async () => {
      await createDaemonSets('always-deleted');
      const recovery = await recoverSooner('always-deleted', AT_ONCE_SECONDS);
      const count = await failUntilLeft('always-deleted');
      if (SHOW_FIGURES) process.stderr.write(`failed ${count} times, freed once\n`);
      expect([await deletions('always-deleted', 1), await restarts(cp(), 'always-deleted')]).toEqual([1, 0]);
      expect(recovery.reasons().slice(0, 2)).toEqual(['PodFreed', 'PodFailsAgain']);
    });

    /** Has the pod fail as soon as it runs, until one after the freed one is left alone for long. Returns how often it failed. */
    async function failUntilLeft(name: string): Promise<number> {
      for (let count = 1; ; count++) {
        const wasFreed = podDeletionTimes(cp(), name, taintkeeperAccount.name).length > 0;
        const failed = await pods.fail(name, FAILING);
        const began = performance.now();
        const isLeft = () => wasFreed && performance.now() - began > LEFT_MS;
        const next = await waitUntil(() => (isLeft() ? 'none' : otherThan(failed, pods.healthy(name, FAILING))), {
          timeoutMs: TIMEOUT_MS,
          otherwise: () => `the failed pod of ${name} was not replaced`,
        });
        if (next === 'none') return count;
        await pods.waitFor(name, FAILING, 'Running', failed);
      }
    }

    it('are freed exactly once when the leader is killed in the middle', async () => {
      // The back-off is 32 s now. The leader must not free the pod before.
      await Promise.all(HANDED_OVER.map((name) => failOften(name, 1)));
      await recover('handed-deleted');
      for (const name of HANDED_OVER) await waitForStatus(name, ({ matched }) => matched === 1);
      const leader = installation.replica(await leaderOf(cp()));
      const looks = async () => {
        const pattern = /^taintkeeper_reconciliations_total\{controller="pod-recovery",result="ok"\} (\d+)$/m;
        return Number(pattern.exec(await leader.metrics())?.[1]);
      };
      const looksBefore = await looks();
      const uids = await Promise.all(HANDED_OVER.map((name) => pods.fail(name, FAILING)));
      await waitUntil(async () => (await looks()) >= looksBefore + HANDED_OVER.length || undefined, {
        timeoutMs: TIMEOUT_MS,
        otherwise: () => 'the leader has not checked the pods',
      });
      await installation.kill(leader.name);
      expect(await deletions('handed-deleted', 0)).toBe(0);
      await Promise.all(HANDED_OVER.map((name, index) => pods.waitFor(name, FAILING, 'Running', uids[index])));
      // The next leader waits for ten seconds, and frees it before the back-off ends.
      expect(await deletions('handed-deleted', 6, daemonSetController)).toBe(6);
      expect(await leaderOf(cp())).not.toBe(leader.name);
      expect([await deletions('handed-deleted', 1), await restarts(cp(), 'handed-deleted')]).toEqual([1, 0]);
      await waitForEvents('handed-deleted', ['PodFreed']);
    });
  },
);

const otherThan = (uid: string, found: string | undefined) => (found === uid ? undefined : found);

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
