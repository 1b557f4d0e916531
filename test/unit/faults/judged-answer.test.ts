import { expect, it } from 'vitest';
import { judgeAnswer, judgeError, type RequestKind, type Result, type Told } from '../../faults/judged-answer.ts';

const DENIED = 'admission webhook "protect.taintkeeper.dev" denied the request: taint …';
const UNREACHED =
  'Internal error occurred: failed calling webhook "protect.taintkeeper.dev": … context deadline exceeded';
const spec = (...keys: string[]) => ({ spec: { taints: keys.map((key) => ({ key, effect: 'NoSchedule' })) } });
const tolerating = (...keys: string[]) => ({
  spec: { template: { spec: { tolerations: keys.map((key) => ({ key })) } } },
});

it.each<{ kind: RequestKind; status: number; body: Told; result: Result }>([
  { kind: 'removal-denied', status: 403, body: { message: DENIED }, result: 'refused' },
  { kind: 'removal-denied', status: 200, body: spec(), result: 'missed' },
  { kind: 'removal-denied', status: 500, body: { message: UNREACHED }, result: 'failed' },
  { kind: 'removal-restored', status: 200, body: spec('a', 'b', 'c'), result: 'admitted' },
  { kind: 'removal-restored', status: 200, body: spec('a'), result: 'missed' },
  { kind: 'removal-restored', status: 403, body: { message: DENIED }, result: 'refused' },
  { kind: 'removal-restored', status: 500, body: { message: UNREACHED }, result: 'wrong' },
  { kind: 'label', status: 200, body: spec(), result: 'admitted' },
  { kind: 'label', status: 403, body: { message: DENIED }, result: 'wrong' },
  { kind: 'label', status: 500, body: { message: UNREACHED }, result: 'wrong' },
  { kind: 'label', status: 500, body: { message: 'etcdserver: request timed out' }, result: 'failed' },
  { kind: 'label', status: 403, body: { message: 'nodes "a" is forbidden: User cannot …' }, result: 'failed' },
  { kind: 'daemon-set', status: 201, body: tolerating('node-role.kubernetes.io/master'), result: 'admitted' },
  { kind: 'daemon-set', status: 201, body: tolerating('other'), result: 'missed' },
  { kind: 'daemon-set', status: 500, body: { message: UNREACHED }, result: 'wrong' },
])('$kind answered with $status $body is $result', ({ kind, status, body, result }) => {
  const answer = { status, body, warnings: [], auditId: undefined };
  expect(judgeAnswer(kind, answer, ['a', 'b']).result).toBe(result);
});

it('says in few words why there was no answer', () => {
  const refused = Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:1'), { code: 'ECONNREFUSED' });
  expect(judgeError(refused)).toEqual({ result: 'failed', why: 'API server: no answer, ECONNREFUSED' });
  expect(judgeError(new Error('The operation was aborted due to timeout')).why).toBe('API server: no answer, timeout');
});
