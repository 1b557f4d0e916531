import { expect, it } from 'vitest';
import type { JudgedCreation } from '../../../src/server/reviewer.ts';
import { nodeRequest } from '../admission/requests.ts';
import { startServer } from './running-server.ts';

const POLICY = `
apiVersion: taintkeeper.dev/v1alpha1
kind: TaintPolicy
metadata: { name: gpu }
spec:
  mode: Restore
  taints: [{ key: dedicated, value: gpu, effect: NoSchedule, ensure: Always }]
`;
const STARTUP = POLICY.replace(
  'ensure: Always',
  'ensure: UntilReady, readyWhen: { daemonSets: [{ namespace: kube-system, name: cni }] }',
);
const GPU = { key: 'dedicated', value: 'gpu', effect: 'NoSchedule' };
const OBJECT = { metadata: { name: 'n1', annotations: { filled: 'x'.repeat(100_000) } }, spec: {} };
const reviewOf = (request: object) => ({ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', request });
const CREATION = nodeRequest({ object: OBJECT });
const RESTORATION = nodeRequest({
  object: OBJECT,
  oldObject: { ...OBJECT, metadata: { name: 'n1', uid: 'uid-1' }, spec: { taints: [GPU] } },
});

async function serve(following: boolean, policies = POLICY) {
  const creations: JudgedCreation[] = [];
  const judged: string[] = [];
  const server = await startServer({
    policies,
    level: 'debug',
    onJudged: ({ request }) => judged.push(request.operation),
    ...(following ? { onCreation: (creation) => creations.push(creation) } : {}),
  });
  const recorded = async () => ({
    log: server.log.lines().map(({ msg }) => msg),
    counted: (await server.metrics.registry.metrics()).match(/^taintkeeper_decisions_total\{.*$/gm) ?? [],
  });
  return {
    ...server,
    creations,
    judged,
    recorded,
    mutate: (request: object) => server.review(reviewOf(request), '/mutate'),
  };
}

const RECORDED = {
  log: ['added dedicated=gpu:NoSchedule on Node n1: TaintPolicy gpu, user dev'],
  counted: [
    'taintkeeper_decisions_total{kind="Node",policy="gpu",mode="Restore",change="Missing",result="Added",audit="false"} 1',
  ],
};

it('a request that creates an object is recorded once that is confirmed; the answer does not wait', async () => {
  const { mutate, creations, judged, recorded } = await serve(true);
  expect(await mutate(CREATION)).toMatchObject({ allowed: true, patchType: 'JSONPatch' });
  expect([creations.length, judged, await recorded()]).toEqual([1, [], { log: [], counted: [] }]);

  expect(creations[0]?.object).toEqual({ apiVersion: 'v1', kind: 'Node', name: 'n1' });
  creations[0]?.report();
  expect(await recorded()).toEqual(RECORDED);
});

it('nothing that waits for that has the object', async () => {
  const { mutate, creations } = await serve(true);
  await mutate(CREATION);
  expect(JSON.stringify(creations[0]?.withoutObject).length).toBeLessThan(2_000);
});

it.each<[why: string, following: boolean, request: object, log: string]>([
  ['nothing can confirm creations: policies from files', false, CREATION, 'added dedicated'],
  ['it changes an object that exists', true, RESTORATION, 'restored dedicated'],
  ['it is a dry run, for the debug log', true, { ...CREATION, dryRun: true }, 'added dedicated'],
  [
    'its name is generated, so that no object can have it',
    true,
    { ...CREATION, name: '', object: { ...OBJECT, metadata: { generateName: 'n' } } },
    'added dedicated',
  ],
])('a request is recorded at once where %s', async (_why, following, request, log) => {
  const { mutate, creations, judged, recorded } = await serve(following);
  await mutate(request);
  expect(creations).toEqual([]);
  expect(judged).toHaveLength(1);
  expect((await recorded()).log).toEqual([expect.stringContaining(log)]);
});

it('a request that creates an object without a finding is not followed', async () => {
  const { mutate, creations, judged } = await serve(true);
  await mutate(nodeRequest({ object: { ...OBJECT, spec: { taints: [GPU] } } }));
  expect([creations, judged]).toEqual([[], ['CREATE']]);
});

it.each([true, false])(
  'a startup taint of a new node is not recorded, its removal will be: followed %s',
  async (following) => {
    const { mutate, creations, judged, recorded } = await serve(following, STARTUP);
    expect(await mutate(nodeRequest({ object: OBJECT }))).toMatchObject({ patchType: 'JSONPatch' });
    expect([creations, judged, await recorded()]).toEqual([[], [], { log: [], counted: [] }]);
  },
);

it('an entry that a new node brings with it is deleted, and that is followed', async () => {
  const { mutate, creations } = await serve(true);
  const annotations = { 'taintkeeper.dev/allow-removal': 'dedicated=gpu:NoSchedule' };
  const object = { metadata: { name: 'n1', annotations }, spec: { taints: [GPU] } };
  expect(await mutate(nodeRequest({ object }))).toMatchObject({ patchType: 'JSONPatch' });
  expect(creations).toHaveLength(1);
});
