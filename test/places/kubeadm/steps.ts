import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { skipFor } from '../../skip-for.ts';
import { type KubeadmCluster, startMachines } from './cluster.ts';
import { obstacleToCluster } from './provide.ts';

const STEP_TIMEOUT_MS = 300_000;

/**
 * One step of a story, as a test. It fails with the logs of the components that it names, and the steps after it are then skipped.
 *
 * @param components units (`kubelet`, `containerd`) and beginnings of the names of pods
 * @param run returns what was seen, for the report
 * @param obstacle why it cannot run, if there is one beside those to the story; the steps after it run
 */
export type Step = (
  name: string,
  components: readonly string[],
  run: () => Promise<string | undefined>,
  obstacle?: string,
) => void;

/**
 * Tests on machines that only they use, one step after the other.
 *
 * @param names of the machines; the first one is for `kubeadm init`
 * @param story declares the steps; the cluster is there when they run
 */
export function describeOnMachines(
  title: string,
  names: readonly [string, ...string[]],
  story: (step: Step, cluster: () => KubeadmCluster) => void,
): void {
  describe(title, skipFor(obstacleToCluster()), () => {
    let cluster: KubeadmCluster | undefined;
    let failed: string | undefined;
    const there = () => {
      if (!cluster) throw new Error('there is no cluster');
      return cluster;
    };
    // A step that takes too long fails by itself, with the logs.
    const step: Step = (name, components, run, obstacle) =>
      it(name, { ...skipFor(obstacle), timeout: 2 * STEP_TIMEOUT_MS }, async ({ skip }) => {
        if (failed !== undefined) skip(`"${failed}" failed`);
        const started = performance.now();
        try {
          const seen = await inTime(run());
          const seconds = ((performance.now() - started) / 1000).toFixed(1).padStart(6);
          process.stderr.write(`${seconds} s  ${name}${seen === undefined ? '' : `: ${seen}`}\n`);
        } catch (error) {
          failed = name;
          const message = error instanceof Error ? error.message : `${error}`;
          throw new Error(`${message}\n${there().logs(components)}`, { cause: error });
        }
      });

    beforeAll(async () => {
      cluster = await startMachines(...names);
    }, STEP_TIMEOUT_MS);
    afterAll(() => cluster?.stop());
    story(step, there);
  });
}

async function inTime<T>(work: Promise<T>): Promise<T> {
  const ended = new AbortController();
  const tooLate = delay(STEP_TIMEOUT_MS, undefined, { signal: ended.signal }).then(() => {
    throw new Error(`the step takes more than ${STEP_TIMEOUT_MS / 1000} s`);
  });
  try {
    return await Promise.race([work, tooLate]);
  } finally {
    ended.abort();
  }
}
