import { expect, it } from 'vitest';
import type { Policy } from '../../../src/policy/policy.ts';
import type { TaintPolicySpec } from '../../../src/policy/taint-policy.ts';
import type { TaintRule } from '../../../src/policy/taint-rule.ts';
import { callsAbout, nodeWith } from '../cel-rules/calls-about-nodes.ts';

const TAINT = { key: 'example.com/gpu', effect: 'NoSchedule' } as const;
const RULE: TaintRule = {
  ...TAINT,
  ensure: 'UntilReady',
  readyWhen: { allocatable: [{ resource: 'example.com/gpu' }] },
  afterReboot: 'SetAgain',
};
const policy = (more: Partial<TaintPolicySpec> = {}): Policy => ({
  kind: 'TaintPolicy',
  name: 'p',
  spec: { mode: 'Restore', taints: [RULE], ...more },
});

it.each<{ why: string; bootID?: string; annotation?: string; spec?: Partial<TaintPolicySpec>; calls: string[] }>([
  { why: 'it does not say for which boot it has the taint', bootID: 'A', calls: ['register'] },
  { why: 'it says another boot', bootID: 'A', annotation: 'B', calls: ['register'] },
  { why: 'it says its own', bootID: 'A', annotation: 'A', calls: [] },
  { why: 'it reports no boot', bootID: '', calls: [] },
  { why: 'it has no status', calls: [] },
  { why: 'the policy ignores reboots', bootID: 'A', spec: { taints: [{ ...RULE, afterReboot: 'Ignore' }] }, calls: [] },
  {
    why: 'the policy does not select it',
    bootID: 'A',
    spec: { nodeSelector: { matchLabels: { a: 'b' } } },
    calls: [],
  },
  { why: 'the policy is in mode Audit', bootID: 'A', spec: { mode: 'Audit' }, calls: [] },
])('a node that registers with its startup taint: $why', ({ bootID, annotation, spec, calls }) => {
  const { metadata, ...node } = nodeWith([TAINT]);
  const object = {
    ...node,
    metadata: {
      ...metadata,
      ...(annotation === undefined ? {} : { annotations: { 'taintkeeper.dev/startup-boot': annotation } }),
    },
    ...(bootID === undefined ? {} : { status: { nodeInfo: { bootID } } }),
  };
  expect(callsAbout([policy(spec)])({ operation: 'CREATE', object } as never)).toEqual(calls);
});
