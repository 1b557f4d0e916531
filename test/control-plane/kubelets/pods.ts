import type { Entry } from '../../../src/cluster/watch/cached-objects.ts';
import type { WatchCache } from '../../../src/cluster/watch/watch-cache.ts';
import { watchResource } from '../../../src/cluster/watch/watch-cache.ts';
import { startWorkQueue } from '../../../src/runtime/work-queue.ts';
import { STRATEGIC_MERGE_PATCH } from '../content-types.ts';
import { unlessOvertaken } from './overtaken.ts';
import { type Pod, type PodTask, podTask, runningReport } from './pod-report.ts';
import { type Surroundings, WATCH_AGAIN } from './surroundings.ts';

const PODS = '/api/v1/pods';
const BOUND = 'spec.nodeName!=';
/** How many writes are on their way at a time. */
const CONCURRENCY = 8;

/** The pods on all nodes. */
export interface Pods {
  readonly synced: Promise<void>;
  /** A node has a kubelet from now on: takes up the pods that are there already. */
  takeUp(node: string): void;
}

interface SeenPod {
  readonly node: string;
  readonly task: PodTask;
}

/**
 * Runs the pods that are bound to nodes with a kubelet, and removes those that are deleted.
 *
 * @param isOurs whether a node has a kubelet
 */
export function followPods({ client, log }: Surroundings, isOurs: (node: string) => boolean): Pods {
  const cache: WatchCache<SeenPod> = watchResource<SeenPod>({
    client,
    path: PODS,
    fieldSelector: BOUND,
    log,
    timings: WATCH_AGAIN,
    project(object) {
      const pod = object as Pod;
      return { node: pod.spec.nodeName ?? '', task: podTask(pod) };
    },
    onChange: ({ type, entry }) => type !== 'deleted' && ask(entry),
  });
  const queue = startWorkQueue({
    name: 'pods',
    concurrency: CONCURRENCY,
    log,
    async work(key) {
      const [namespace = '', name = ''] = key.split('/');
      const pod = cache.get(name, namespace);
      if (pod && isOurs(pod.value.node)) await unlessOvertaken(perform(pod));
      return undefined;
    },
  });

  function ask({ namespace, name, value }: Entry<SeenPod>): void {
    if (value.task.kind !== 'nothing') queue.add(`${namespace}/${name}`);
  }

  async function perform({ namespace, name, uid, resourceVersion, value: { task } }: Entry<SeenPod>): Promise<void> {
    const path = `/api/v1/namespaces/${namespace}/pods/${name}`;
    switch (task.kind) {
      case 'run': {
        const body = { metadata: { uid, resourceVersion }, status: runningReport(task.containers) };
        await client.request('PATCH', `${path}/status`, { body, contentType: STRATEGIC_MERGE_PATCH });
        break;
      }
      case 'remove':
        await client.request('DELETE', path, { body: { gracePeriodSeconds: 0, preconditions: { uid } } });
        break;
      case 'nothing':
        break;
    }
  }

  return {
    synced: cache.synced,
    takeUp(node) {
      for (const pod of cache.entries()) if (pod.value.node === node) ask(pod);
    },
  };
}
