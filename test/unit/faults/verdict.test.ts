import { expect, it } from 'vitest';
import { judgeAnswer, judgeError, type RequestKind, type Told, type Verdict } from '../../faults/verdict.ts';

const DENIED = 'admission webhook "protect.taintkeeper.dev" denied the request: taint …';
const UNREACHED =
  'Internal error occurred: failed calling webhook "protect.taintkeeper.dev": … context deadline exceeded';
const spec = (...keys: string[]) => ({ spec: { taints: keys.map((key) => ({ key, effect: 'NoSchedule' })) } });
const tolerating = (...keys: string[]) => ({
  spec: { template: { spec: { tolerations: keys.map((key) => ({ key })) } } },
});

it.each<{ kind: RequestKind; status: number; body: Told; verdict: Verdict }>([
  { kind: 'removal-denied', status: 403, body: { message: DENIED }, verdict: 'refused' },
  { kind: 'removal-denied', status: 200, body: spec(), verdict: 'missed' },
  { kind: 'removal-denied', status: 500, body: { message: UNREACHED }, verdict: 'failed' },
  { kind: 'removal-restored', status: 200, body: spec('a', 'b', 'c'), verdict: 'admitted' },
  { kind: 'removal-restored', status: 200, body: spec('a'), verdict: 'missed' },
  { kind: 'removal-restored', status: 403, body: { message: DENIED }, verdict: 'refused' },
  { kind: 'removal-restored', status: 500, body: { message: UNREACHED }, verdict: 'wrong' },
  { kind: 'label', status: 200, body: spec(), verdict: 'admitted' },
  { kind: 'label', status: 403, body: { message: DENIED }, verdict: 'wrong' },
  { kind: 'label', status: 500, body: { message: UNREACHED }, verdict: 'wrong' },
  { kind: 'label', status: 500, body: { message: 'etcdserver: request timed out' }, verdict: 'failed' },
  { kind: 'label', status: 403, body: { message: 'nodes "a" is forbidden: User cannot …' }, verdict: 'failed' },
  { kind: 'daemon-set', status: 201, body: tolerating('node-role.kubernetes.io/master'), verdict: 'admitted' },
  { kind: 'daemon-set', status: 201, body: tolerating('other'), verdict: 'missed' },
  { kind: 'daemon-set', status: 500, body: { message: UNREACHED }, verdict: 'wrong' },
])('$kind answered with $status $body is $verdict', ({ kind, status, body, verdict }) => {
  const answer = { status, body, warnings: [], auditId: undefined };
  expect(judgeAnswer(kind, answer, ['a', 'b']).verdict).toBe(verdict);
});

it('says in few words why there was no answer', () => {
  const refused = Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:1'), { code: 'ECONNREFUSED' });
  expect(judgeError(refused)).toEqual({ verdict: 'failed', why: 'API server: no answer, ECONNREFUSED' });
  expect(judgeError(new Error('The operation was aborted due to timeout')).why).toBe('API server: no answer, timeout');
});
