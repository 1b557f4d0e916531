import { expect, it } from 'vitest';
import { explain, MAX_NODES, patchExisting, taintFix, tolerate, whyNot } from '../../../../src/page/static/fixes.js';

const TAINT = 'dedicated=gpu:NoSchedule';

it.each<{ why: string; nodes?: string[]; note: Parameters<typeof taintFix>[1]; command?: string; says?: string }>([
  {
    why: 'the mode of its policy does not restore it',
    nodes: ['n1', 'n2'],
    note: { taint: TAINT, blockedBy: 'ModeDoesNotRestore' },
    command: `kubectl taint node n1 n2 ${TAINT}`,
    says: '',
  },
  {
    why: 'another value is in its place',
    note: { taint: TAINT, carries: 'dedicated=cpu:NoSchedule', blockedBy: 'ModeDoesNotRestore' },
    command: `kubectl taint --overwrite node n1 ${TAINT}`,
  },
  {
    why: 'it evicts pods, which is said',
    note: { taint: 'edge:NoExecute', blockedBy: 'WouldEvictPods' },
    command: 'kubectl taint node n1 edge:NoExecute',
    says: 'Evicts the pods there that do not tolerate it.',
  },
  {
    why: 'policies contradict each other',
    note: { taint: TAINT, blockedBy: 'OtherValuePresent' },
    command: 'taintkeeper explain node n1',
  },
  {
    why: 'another writer removes it repeatedly',
    note: { taint: TAINT, blockedBy: 'Conflict' },
    command: 'kubectl get events --all-namespaces --field-selector reason=TaintConflict',
  },
  { why: 'taintkeeper is about to restore it', note: { taint: TAINT } },
  { why: 'a name is not for a shell', nodes: ['n1;reboot'], note: { taint: TAINT, blockedBy: 'ModeDoesNotRestore' } },
])('a missing taint, where $why', ({ nodes = ['n1'], note, command, says }) => {
  const fix = taintFix(nodes, note);
  expect(fix?.command).toBe(command);
  if (says !== undefined) expect(fix?.note).toBe(says);
});

it('has no command longer than one reads, and says of how many it is', () => {
  const nodes = Array.from({ length: 5_000 }, (_, index) => `n${index}`);
  const fix = taintFix(nodes, { taint: TAINT, blockedBy: 'ModeDoesNotRestore' });
  expect(fix?.command.split(' ')).toHaveLength(MAX_NODES + 4);
  expect(fix?.note).toBe(`Of 5000 nodes, the first ${MAX_NODES}.`);
});

it('lets a DaemonSet run by the taints that are in its way', () => {
  expect(tolerate({ namespace: 'ns', name: 'cni' }, ['a', 'b/c'])?.command).toBe(
    'taintkeeper coverage fix --namespace ns --daemonset cni --taint a --taint b/c',
  );
});

it.each([
  { why: 'reported only', spec: 'existing: Report\n', mode: 'Mutate', fixed: true },
  { why: 'patched already', spec: 'mode: Mutate\nexisting: Patch\n', mode: 'Mutate', fixed: false },
  { why: 'only watched', spec: '', mode: 'Audit', fixed: false },
])('existing DaemonSets: $why', ({ spec, mode, fixed }) => {
  expect(patchExisting({ kind: 'TolerationPolicy', name: 'cni', mode, spec }) !== undefined).toBe(fixed);
});

it('has nothing for a shell that is not a name', () => {
  expect([explain('node', 'n1')?.command, explain('node', '$(reboot)')]).toEqual([
    'taintkeeper explain node n1',
    undefined,
  ]);
});

it.each([
  { column: { mode: 'Deny' }, why: 'mode Deny restores only required taints' },
  { column: { mode: 'Audit', trial: 'Deny' }, why: 'mode Deny restores only required taints' },
  { column: { mode: 'Audit', trial: 'Audit' }, why: 'mode Audit restores nothing' },
  { column: { mode: 'Audit', trial: 'Restore' }, why: 'only --audit keeps it from being restored' },
])('says what its mode does not do: $column', ({ column, why }) => {
  expect(whyNot('ModeDoesNotRestore', column)).toBe(why);
});
