import { expect, it, vi } from 'vitest';
import type { ApiClient } from '../../../../src/cluster/client/api-client.ts';
import { perNode } from '../../../../src/controllers/nodes/per-node.ts';
import { trackRepairProblems } from '../../../../src/controllers/nodes/repair-problems.ts';
import type { WriteFault } from '../../../../src/controllers/nodes/write-faults.ts';
import type { MissingTaint } from '../../../../src/judge/missing-taint.ts';
import type { NodeMemory } from '../../../../src/judge/node/node-memory.ts';
import { type Taint, taintIdentity } from '../../../../src/kubernetes/taint.ts';

const gpu: Taint = { key: 'dedicated', value: 'gpu', effect: 'NoSchedule' };

/** The taints with these keys are in conflict, and these policies miss them. */
const conflictsOf = (keys: readonly string[], ...policyNames: string[]): NodeMemory['conflicts'] =>
  new Map(keys.map((key) => [taintIdentity({ ...gpu, key }), { taint: { ...gpu, key }, policyNames }]));

function track(managers: readonly string[] = ['nodectl']) {
  const managedFields = managers.map((manager) => ({
    manager,
    operation: 'Update',
    fieldsV1: { 'f:spec': { 'f:taints': {} } },
  }));
  const request = vi.fn(async (_method: string, _path: string) => ({ metadata: { managedFields } }));
  const onChange = vi.fn();
  const client = { request } as Pick<ApiClient, 'request'> as ApiClient;
  const kept = perNode();
  return { problems: trackRepairProblems({ client, kept, onChange }), kept, request, onChange };
}

it('the other writer of a taint in conflict is read once, and named in every policy that misses it', async () => {
  const { problems, request, onChange } = track();
  await problems.setConflicts('n1', conflictsOf(['dedicated'], 'a'));
  expect(problems.otherWriterOf('n1', gpu)).toBe('field manager "nodectl" (Update)');
  expect(onChange).toHaveBeenCalledTimes(1);
  for (let time = 0; time < 2; time++) await problems.setConflicts('n1', conflictsOf(['dedicated'], 'a', 'b'));
  expect(request.mock.calls).toEqual([['GET', '/api/v1/nodes/n1', {}]]);
  expect(onChange).toHaveBeenCalledTimes(2);

  const message =
    'left alone for now, because another writer undoes each change: ' +
    'taint dedicated=gpu:NoSchedule of node n1, by field manager "nodectl" (Update)';
  expect(problems.list()).toEqual(
    ['a', 'b'].map((policy) => ({ kind: 'TaintPolicy', policy, reason: 'TaintConflict', message })),
  );
});

it('taints whose conflicts are new together have one writer, which is read once, and an earlier one keeps what was known', async () => {
  const { problems, request } = track();
  request.mockResolvedValueOnce({ metadata: { managedFields: [] } });
  await problems.setConflicts('n1', conflictsOf(['dedicated'], 'p'));
  expect(problems.otherWriterOf('n1', gpu)).toBeUndefined();
  request.mockClear();
  await problems.setConflicts('n1', conflictsOf(['dedicated', 'k1', 'k2'], 'p'));
  expect(request).toHaveBeenCalledTimes(1);
  const writers = ['dedicated', 'k1', 'k2'].map((key) => problems.otherWriterOf('n1', { ...gpu, key }));
  expect(writers).toEqual([undefined, ...Array(2).fill('field manager "nodectl" (Update)')]);
  await problems.setConflicts('n1', conflictsOf(['k1'], 'p'));
  expect(request).toHaveBeenCalledTimes(1);
});

it('a message names only so many taints, and no writer where none is known', async () => {
  const { problems } = track([]);
  const keys = Array.from({ length: 20 }, (_, index) => `k${index}`);
  await problems.setConflicts('n1', conflictsOf(keys, 'p'));
  expect(problems.otherWriterOf('n1', { ...gpu, key: 'k0' })).toBeUndefined();
  const [{ message = '' } = {}] = problems.list();
  expect(message).toMatch(/: taint k0=gpu:NoSchedule of node n1, .*k3=gpu:NoSchedule of node n1, and 16 more$/);
});

it('taints that would evict pods are reported by each policy, with the commands that set them, while the node lacks them', () => {
  const { problems, kept, onChange } = track();
  const taint = { key: 'out', effect: 'NoExecute' } as const;
  const evicting = (policy: string, more: Partial<MissingTaint> = {}) =>
    ({ policy: { name: policy }, field: '', taint, blockedBy: 'WouldEvictPods', ...more }) as unknown as MissingTaint;
  const missing = [
    evicting('a'),
    evicting('b'),
    evicting('b', { taint: { key: 'also', value: 'x', effect: 'NoExecute' } }),
    evicting('c', { blockedBy: 'Conflict' }),
  ];
  for (let time = 0; time < 2; time++) problems.setWouldEvict('n1', [gpu], missing);
  expect(onChange).toHaveBeenCalledTimes(1);
  expect(problems.has('n1')).toBe(true);
  const message = (command: string) =>
    `running nodes lack a NoExecute taint, which is not set there because it would evict pods; to set it: kubectl taint ${command}`;
  expect(problems.list()).toEqual(
    ['a', 'b'].map((policy) => ({
      ...{ kind: 'TaintPolicy', policy, reason: 'WouldEvictPods' },
      message: message('node n1 also=x:NoExecute out:NoExecute'),
    })),
  );

  problems.setWouldEvict('n1', [{ ...taint, value: 'y' }], [evicting('a')]);
  expect(problems.list().map((one) => one.message)).toEqual([message('--overwrite node n1 out:NoExecute')]);

  problems.setWouldEvict('n1', [gpu], []);
  expect({ has: problems.has('n1'), list: problems.list() }).toEqual({ has: false, list: [] });
  problems.setWouldEvict('n1', [gpu], missing);
  kept.forget('n1');
  expect(problems.list()).toEqual([]);
  expect(onChange).toHaveBeenCalledTimes(4);
});

it('a conflict that ends is no problem any more', async () => {
  const { problems, onChange } = track();
  await problems.setConflicts('n1', conflictsOf(['dedicated'], 'p'));
  expect(problems.has('n1')).toBe(true);
  onChange.mockClear();
  await problems.setConflicts('n1', new Map());
  expect(problems.list()).toEqual([]);
  expect(problems.has('n1')).toBe(false);
  expect(problems.otherWriterOf('n1', gpu)).toBeUndefined();
  expect(onChange).toHaveBeenCalledTimes(1);
});

it('a fault ends with a write of what was refused, also while the taints of another policy are left to another writer', () => {
  const { problems } = track();
  const missingTaintOf = (policy: string) => ({ policy: { name: policy } }) as unknown as MissingTaint;
  const fault = { kind: 'Refused', error: { status: 403, reason: 'Forbidden', message: 'not allowed' } } as const;
  problems.setWriteFault('n1', [missingTaintOf('q')], fault);
  problems.clearWriteFault('n1', ['q']);
  expect(problems.list()).toMatchObject([{ policy: 'q', reason: 'RepairRefused' }]);
  problems.clearWriteFault('n1', ['p']);
  expect(problems.list()).toEqual([]);
});

it('what a webhook undoes is named as it is now, and an equal fault by its first message', () => {
  const { problems } = track();
  const missingTaint = { policy: { name: 'p' } } as unknown as MissingTaint;
  const messagesOf = (faultOf: (message: string) => WriteFault) =>
    ['first', 'second'].map((message) => {
      problems.setWriteFault('n1', [missingTaint], faultOf(message));
      return problems.list()[0]?.message;
    });
  const refused = (message: string) =>
    ({ kind: 'Refused', error: { status: 403, reason: 'Forbidden', message } }) as const;
  expect(messagesOf(refused)).toEqual(Array(2).fill('missing taints cannot be set: first'));
  const undone = (message: string) => ({ kind: 'Undone', message }) as const;
  expect(messagesOf(undone)).toEqual(['first', 'second'].map((text) => `missing taints cannot be set: ${text}`));
});
