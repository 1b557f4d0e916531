import { describe, expect, it } from 'vitest';
import type { AdmissionRequest } from '../../../src/admission/admission-review.ts';
import { createDecisionLog } from '../../../src/page/decision-log.ts';
import { recordRequests } from '../../../src/replica/recorded-requests.ts';
import { daemonSetRequest, nodeRequest } from '../admission/requests.ts';
import { collectGarbage } from '../collect-garbage.ts';
import { startServer } from '../server/running-server.ts';

const POLICIES = `
apiVersion: taintkeeper.dev/v1alpha1
kind: TaintPolicy
metadata: { name: denied }
spec: { mode: Deny, taints: [{ key: denied }] }
---
apiVersion: taintkeeper.dev/v1alpha1
kind: TaintPolicy
metadata: { name: restored }
spec: { mode: Restore, taints: [{ key: restored, effect: NoSchedule, ensure: Always }] }
---
apiVersion: taintkeeper.dev/v1alpha1
kind: TolerationPolicy
metadata: { name: cni }
spec: { mode: Mutate, daemonSets: { namespaces: [kube-system] } }
`;

const node = (...keys: readonly string[]) => ({
  metadata: { name: 'n1', uid: 'uid-1' },
  spec: { taints: keys.map((key) => ({ key, effect: 'NoSchedule' })) },
});
const DAEMON_SET = { metadata: { name: 'cni' }, spec: { template: { spec: { containers: [] } } } };

/** Keeps what a replica keeps of each request. */
async function startReplica() {
  const decisions = createDecisionLog({ replica: 'a' });
  const objects: WeakRef<object>[] = [];
  const kept: unknown[] = [decisions];
  const remember = ({ object }: AdmissionRequest) => objects.push(new WeakRef(object as object));
  const { onJudged, onCreation } = recordRequests({
    events: { record: (...event) => kept.push(event) },
    creations: { follow: (...creation) => kept.push(creation) },
    decisions,
  });
  const server = await startServer({
    policies: POLICIES,
    onJudged(judged) {
      remember(judged.request);
      onJudged(judged);
    },
    onCreation(creation) {
      remember(creation.judged.request);
      onCreation(creation);
    },
  });
  return { server, kept, objects };
}

describe('what a replica keeps of a request', () => {
  it.each<{ what: string; path: '/validate' | '/mutate'; request: AdmissionRequest }>([
    {
      what: 'a denied removal',
      path: '/validate',
      request: nodeRequest({ object: node(), oldObject: node('denied') }),
    },
    {
      what: 'a restored taint',
      path: '/mutate',
      request: nodeRequest({ object: node(), oldObject: node('restored') }),
    },
    { what: 'a node that registers', path: '/mutate', request: nodeRequest({ object: node() }) },
    { what: 'a patched DaemonSet', path: '/mutate', request: daemonSetRequest({ object: DAEMON_SET }) },
  ])('has no reference to the object, which may have megabytes: $what', async ({ path, request }) => {
    const { server, kept, objects } = await startReplica();
    await server.review({ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', request }, path);
    // The answer can arrive before the server's last turn for the request. And an object of which a reference was followed stays until the end of the turn.
    const isHeld = () => {
      collectGarbage();
      return objects.map((object) => object.deref() !== undefined);
    };
    await expect.poll(isHeld).toEqual([false]);
    expect(kept.length).toBeGreaterThan(1);
  });
});
