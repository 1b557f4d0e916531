import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parsePolicies } from '../../../src/files/policy-files.ts';
import { formatTaint } from '../../../src/kubernetes/taint.ts';
import { compilePolicies } from '../../../src/policy/policy-set.ts';
import { judgeNode } from '../judge/judge-node.ts';
import { ROOT } from './pages.ts';

const FOLDER = join(ROOT, 'examples/startup');
const PAGE = readFileSync(join(ROOT, 'docs/startup-taints.md'), 'utf8');
const NAMES = ['at-creation', 'hand-over', 'wait-for-cni', 'wait-for-gpu-drivers'];
const REQUESTER = { username: 'dev', groups: ['developers'] };

const textOf = (name: string) => readFileSync(join(FOLDER, `${name}.yaml`), 'utf8');
const example = (name: string) => compilePolicies(parsePolicies([{ name, text: textOf(name) }]));
const nodeWith = (taints: readonly { readonly key: string; readonly effect: string }[]) => ({
  name: 'gpu-1',
  labels: { pool: 'gpu' },
  taints,
  allowRemoval: undefined,
});

it('each recipe is a file', () => {
  expect(readdirSync(FOLDER).sort()).toEqual(NAMES.map((name) => `${name}.yaml`));
});

describe.each(NAMES)('the recipe %s', (name) => {
  it('is on the page as in the file', () => {
    const yaml = textOf(name).replace(/^#.*\n/gm, '');
    expect(PAGE).toContain(`\`\`\`yaml\n${yaml}\`\`\``);
  });

  it('sets its taint when a node registers, and lets every user remove it', () => {
    const set = example(name);
    const [policy] = set.taintPolicies;
    const taints = policy?.ensured.map(({ value }) => value.taint) ?? [];
    expect(taints).toHaveLength(1);
    const node = nodeWith([]);
    const created = judgeNode({ phase: 'mutate', requester: REQUESTER, node }, set);
    expect(created).toMatchObject({ action: 'patch', desired: { taints } });
    const oldNode = nodeWith(taints);
    for (const phase of ['mutate', 'validate'] as const) {
      const removed = judgeNode({ phase, requester: REQUESTER, oldNode, node }, set);
      expect(removed, taints.map(formatTaint).join()).toMatchObject({ action: 'allow' });
    }
  });
});

it.each([
  ['at-creation', []],
  ['hand-over', []],
  ['wait-for-cni', ['kube-system/cilium']],
  ['wait-for-gpu-drivers', ['gpu-operator/nvidia-driver-daemonset', 'gpu-operator/nvidia-device-plugin-daemonset']],
])('%s waits for DaemonSets: %j', (name, expected) => {
  const named = example(name).taintPolicies.flatMap(({ untilReady }) =>
    untilReady.flatMap(({ value }) => value.parts.daemonSets.map((one) => `${one.namespace}/${one.name}`)),
  );
  expect(named).toEqual(expected);
});
