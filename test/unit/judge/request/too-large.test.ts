import { expect, it } from 'vitest';
import { judgeTooLarge, type TooLarge } from '../../../../src/judge/request/too-large.ts';
import type { TaintMode, TaintPolicySpec } from '../../../../src/policy/taint-policy.ts';
import { policySet } from '../../policy/policies.ts';

const limits = '1 MiB, or 5 fields';

function policiesOf(modes: readonly TaintMode[]) {
  const specs = modes.map((mode): [string, TaintPolicySpec] => [mode.toLowerCase(), { mode, taints: [{ key: 'a' }] }]);
  return policySet({ taint: Object.fromEntries(specs) });
}

it.each<{ why: string; subject: Omit<TooLarge, 'limits'>; modes?: TaintMode[]; message: string }>([
  {
    why: 'a Node that a policy may protect',
    subject: { kind: 'Node', name: 'n1' },
    message: `node n1: the request is denied, because its review is too large to check: it has more than ${limits}. Find what fills the Node: kubectl get node n1 -o json. Remove that, and try again`,
  },
  {
    why: 'a Node in mode Deny beside Audit: the policy in mode Deny may protect its taints, which are not known',
    subject: { kind: 'Node' },
    modes: ['Audit', 'Deny'],
    message: `node (without a name): the request is denied, because its review is too large to check: it has more than ${limits}. Make the Node smaller`,
  },
])('validation denies $why', ({ subject, modes = ['Restore'], message }) => {
  expect(judgeTooLarge.validate({ ...subject, limits }, policiesOf(modes))).toMatchObject({
    action: 'deny',
    message,
    violations: [],
  });
});

it.each<{ why: string; subject: Omit<TooLarge, 'limits'>; modes: TaintMode[]; what: string }>([
  {
    why: 'a Node where policies only report',
    subject: { kind: 'Node', name: 'n1' },
    modes: ['Audit'],
    what: 'Node n1',
  },
  { why: 'a Node without policies', subject: { kind: 'Node' }, modes: [], what: 'Node' },
  { why: 'a DaemonSet', subject: { kind: 'DaemonSet', name: 'd' }, modes: ['Deny'], what: 'DaemonSet d' },
  { why: 'an unknown object', subject: {}, modes: ['Deny'], what: 'object' },
])('validation allows $why', ({ subject, modes, what }) => {
  expect(judgeTooLarge.validate({ ...subject, limits }, policiesOf(modes))).toMatchObject({
    action: 'allow',
    violations: [],
    warnings: [`taintkeeper cannot check ${what}: its review is too large`],
  });
});

it('mutation allows a Node, because it also gets the requests of exempt users: validation decides about the others', () => {
  expect(judgeTooLarge.mutate({ kind: 'Node', name: 'n1', limits }, policiesOf(['Deny']))).toMatchObject({
    action: 'allow',
    warnings: ['taintkeeper cannot check Node n1: its review is too large'],
  });
});
