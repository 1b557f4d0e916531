import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { ApiClient } from '../../../../src/cluster/client/api-client.ts';
import { FIGHT, trackTaintContests } from '../../../../src/controllers/nodes/taint-contests.ts';
import type { Taint } from '../../../../src/kubernetes/taint.ts';
import { driftOf, nodeOf } from '../../judge/node-drifts.ts';
import { nodeEntry } from './node-entries.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const MINUTE_MS = 60_000;
const n1 = nodeEntry('n1');
const gpu: Taint = { key: 'dedicated', value: 'gpu', effect: 'NoSchedule' };

/** What the policies miss on a node that carries nothing. */
function lossesOf(keys: readonly string[], ...policies: string[]) {
  const taints = keys.map((key) => ({ key, value: 'gpu', effect: 'NoSchedule' as const, ensure: 'Always' as const }));
  const specs = policies.map((name) => [name, { mode: 'Restore' as const, taints }]);
  return driftOf(Object.fromEntries(specs), nodeOf([])).losses;
}

function track(managers: readonly string[] = ['nodectl']) {
  const managedFields = managers.map((manager) => ({
    manager,
    operation: 'Update',
    fieldsV1: { 'f:spec': { 'f:taints': {} } },
  }));
  const request = vi.fn(async (_method: string, _path: string) => ({ metadata: { managedFields } }));
  const onChange = vi.fn();
  const contests = trackTaintContests({ client: { request } as Pick<ApiClient, 'request'> as ApiClient, onChange });
  return {
    contests,
    request,
    onChange,
    /** Once a minute, the first one now. */
    repair(times: number, entry = n1, taint = gpu) {
      for (let count = 0; count < times; count++) {
        if (count > 0) vi.advanceTimersByTime(MINUTE_MS);
        contests.repaired(entry, taint);
      }
    },
  };
}

it('a taint is contested once it was put back so often, until the first time is long enough ago', () => {
  const { contests, repair } = track();
  repair(FIGHT.limit - 1);
  expect(contests.isContested(n1, gpu)).toBe(false);
  repair(1);
  expect(contests.isContested(n1, gpu)).toBe(true);
  vi.advanceTimersByTime(FIGHT.windowMs - MINUTE_MS - 1);
  expect(contests.isContested(n1, gpu)).toBe(true);
  vi.advanceTimersByTime(1);
  expect(contests.isContested(n1, gpu)).toBe(false);
});

it.each([
  { why: 'of another effect', entry: n1, taint: { ...gpu, effect: 'NoExecute' }, contested: false },
  { why: 'of another node', entry: nodeEntry('n2'), taint: gpu, contested: false },
  { why: 'of another node of that name', entry: nodeEntry('n1', [], 'other'), taint: gpu, contested: false },
  { why: 'of another value, which is the same taint', entry: n1, taint: { ...gpu, value: 'cpu' }, contested: true },
])('so is, or is not, the taint $why', ({ entry, taint, contested }) => {
  const { contests, repair } = track();
  repair(FIGHT.limit);
  expect(contests.isContested(entry, taint)).toBe(contested);
});

it('who takes it away is asked once, and told for every policy that misses it', async () => {
  const { contests, request, onChange } = track();
  const [a, b] = lossesOf(['dedicated'], 'a', 'b');
  if (!a || !b) throw new Error('nothing is lost');
  await contests.open(n1, a);
  expect(contests.rivalOf(n1, gpu)).toBe('field manager "nodectl" (Update)');
  expect(onChange).toHaveBeenCalledTimes(1);
  for (const loss of [a, b, b]) await contests.open(n1, loss);
  expect(request.mock.calls).toEqual([['GET', '/api/v1/nodes/n1', {}]]);
  expect(onChange).toHaveBeenCalledTimes(2);

  const message =
    'not restored for now, because they are removed each time: ' +
    'taint dedicated=gpu:NoSchedule of node n1, by field manager "nodectl" (Update)';
  expect(contests.problems()).toEqual(
    ['a', 'b'].map((policy) => ({ kind: 'TaintPolicy', policy, reason: 'TaintContested', message })),
  );
});

it('names only so many taints, and nobody where nobody shows', async () => {
  const { contests } = track([]);
  const keys = Array.from({ length: 20 }, (_, index) => `k${index}`);
  for (const loss of lossesOf(keys, 'p')) await contests.open(n1, loss);
  expect(contests.rivalOf(n1, { ...gpu, key: 'k0' })).toBeUndefined();
  const [{ message = '' } = {}] = contests.problems();
  expect(message).toMatch(/: taint k0=gpu:NoSchedule of node n1, .*k3=gpu:NoSchedule of node n1, and 16 more$/);
});

it('a node is looked at again when the first of its contested taints may be put back', async () => {
  const { contests, repair } = track();
  const [loss, second] = lossesOf(['dedicated', 'other'], 'p');
  if (!loss || !second) throw new Error('nothing is lost');
  repair(FIGHT.limit);
  expect(contests.nextLookMs(n1)).toBeUndefined();
  await contests.open(n1, loss);
  expect(contests.nextLookMs(n1)).toBe(FIGHT.windowMs - 2 * MINUTE_MS);

  repair(FIGHT.limit, n1, second.taint);
  await contests.open(n1, second);
  expect(contests.nextLookMs(n1)).toBe(FIGHT.windowMs - 4 * MINUTE_MS);
  expect(contests.nextLookMs(nodeEntry('n2'))).toBeUndefined();
});

it('ends when nothing was put back for the length of the window', async () => {
  const { contests, repair, onChange } = track();
  const [loss] = lossesOf(['dedicated'], 'p');
  if (!loss) throw new Error('nothing is lost');
  repair(FIGHT.limit);
  await contests.open(n1, loss);
  onChange.mockClear();

  vi.advanceTimersByTime(FIGHT.windowMs - 1);
  contests.closeOld();
  expect(contests.problems()).toHaveLength(1);
  expect(onChange).not.toHaveBeenCalled();

  vi.advanceTimersByTime(1);
  contests.closeOld();
  expect(contests.problems()).toEqual([]);
  expect(contests.nextLookMs(n1)).toBeUndefined();
  expect(contests.rivalOf(n1, gpu)).toBeUndefined();
  expect(onChange).toHaveBeenCalledTimes(1);
});

it('a look at a node costs no look at the contests of all others', async () => {
  const { contests } = track();
  const [loss] = lossesOf(['dedicated'], 'p');
  if (!loss) throw new Error('nothing is lost');
  for (let index = 0; index < 500; index++) {
    const other = nodeEntry(`other${index}`);
    for (let count = 0; count < FIGHT.limit; count++) contests.repaired(other, gpu);
    await contests.open(other, loss);
  }
  const name = vi.fn(() => 'n1');
  contests.nextLookMs({
    ...n1,
    get name() {
      return name();
    },
  });
  expect(name.mock.calls.length).toBeLessThanOrEqual(1);
});
