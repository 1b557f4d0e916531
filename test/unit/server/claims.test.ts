import { expect, it } from 'vitest';
import { allow, deny } from '../../../src/judge/decision.ts';
import { type ServerOptions, startServer } from './running-server.ts';

const POLICIES = `apiVersion: taintkeeper.dev/v1alpha1
kind: TaintPolicy
metadata: { name: out }
spec:
  mode: Deny
  taints: [{ key: out, ensure: Nothing }]
  noExecute: { maxNodes: 1 }
`;

function review(taints: readonly object[]): string {
  const node = (spec: object) => ({ metadata: { name: 'n1' }, spec });
  return JSON.stringify({
    apiVersion: 'admission.k8s.io/v1',
    kind: 'AdmissionReview',
    request: {
      uid: 'u1',
      resource: { group: '', version: 'v1', resource: 'nodes' },
      name: 'n1',
      operation: 'UPDATE',
      userInfo: { username: 'dev' },
      object: node({ taints }),
      oldObject: node({}),
    },
  });
}
const OUT = [{ key: 'out', effect: 'NoExecute' }];

async function answerTo(body: string, options: ServerOptions) {
  const server = await startServer({ policies: POLICIES, ...options });
  const { status, text } = await server.post(body, { path: '/validate' });
  return { status, response: JSON.parse(text).response };
}

it('an update that claims a place is answered once that is settled', async () => {
  const judged: string[] = [];
  const { response } = await answerTo(review(OUT), {
    settle: async ({ judgement: { claims = [] } }) => {
      await new Promise(setImmediate);
      judged.push(...claims.flatMap(({ taints }) => taints.map(({ key }) => `settled ${key}`)));
      return deny('no place', []);
    },
    onJudged: ({ judgement }) => judged.push(judgement.decision.verdict),
  });
  expect(response).toMatchObject({ uid: 'u1', allowed: false, status: { message: 'no place' } });
  expect(judged).toEqual(['settled out', 'deny']);
});

it('no other request waits for that', async () => {
  const settle = async () => deny('not to be asked', []);
  const { response } = await answerTo(review([{ key: 'out', effect: 'NoSchedule' }]), { settle });
  expect(response).toMatchObject({ allowed: true });
});

it('without anybody who could settle it, as with policies from files, it passes', async () => {
  expect((await answerTo(review(OUT), {})).response).toMatchObject({ allowed: true });
});

it('a fault of that is a fault of ours', async () => {
  const settle = () => Promise.reject(new Error('a bug'));
  expect(await answerTo(review(OUT), { settle })).toMatchObject({ status: 500, response: { allowed: false } });
  expect(await answerTo(review(OUT), { settle: async () => allow() })).toMatchObject({ status: 200 });
});
