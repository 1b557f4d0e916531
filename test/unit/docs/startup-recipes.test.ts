import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parsePolicies } from '../../../src/files/policy-files.ts';
import { formatTaint } from '../../../src/kubernetes/taint.ts';
import { compilePolicies } from '../../../src/policy/policy-set.ts';
import { partsOf, type ReadyWhen, ReadyWhenSchema } from '../../../src/policy/ready-when.ts';
import { judgeNode } from '../judge/request/judge-node.ts';
import { ROOT } from './pages.ts';

const FOLDER = join(ROOT, 'examples/startup');
const PAGE = readFileSync(join(ROOT, 'docs/startup-taints.md'), 'utf8');
const NAMES = ['hand-over', 'wait-for-all-daemons', 'wait-for-cni', 'wait-for-csi-driver', 'wait-for-gpu-drivers'];
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
    const taints = policy?.ensured.map(({ taint }) => taint) ?? [];
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

it.each<{ name: string; readyWhen: ReadyWhen | undefined }>([
  { name: 'hand-over', readyWhen: undefined },
  {
    name: 'wait-for-all-daemons',
    readyWhen: {
      allDaemonSets: { namespaces: ['kube-system'], except: [{ namespace: 'kube-system', name: 'log-archiver' }] },
    },
  },
  { name: 'wait-for-cni', readyWhen: { daemonSets: [{ namespace: 'kube-system', name: 'cilium' }] } },
  { name: 'wait-for-csi-driver', readyWhen: { csiDrivers: [{ name: 'ebs.csi.aws.com' }] } },
  {
    name: 'wait-for-gpu-drivers',
    readyWhen: {
      daemonSets: [{ namespace: 'gpu-operator', name: 'nvidia-device-plugin-daemonset' }],
      allocatable: [{ resource: 'nvidia.com/gpu' }],
    },
  },
])('$name waits for $readyWhen', ({ name, readyWhen }) => {
  const parts = example(name).taintPolicies.flatMap(({ untilReady }) => untilReady.map(({ parts }) => parts));
  expect(parts).toEqual(readyWhen ? [partsOf(readyWhen)] : []);
});

it('a recipe that removes its taint at the deadline does so before Cluster Autoscaler counts the node as unready', () => {
  // `--max-node-startup-time`.
  const startupMs = 15 * 60_000;
  const removals = NAMES.flatMap((name) => example(name).taintPolicies)
    .flatMap(({ untilReady }) => untilReady.map(({ removeAfterMs }) => removeAfterMs))
    .filter((removeAfterMs) => removeAfterMs !== undefined);
  expect(removals.map((removeAfterMs) => removeAfterMs < startupMs)).toEqual([true]);
});

it('the page has each field of readyWhen: a part in the table, and the others with the deadline', () => {
  const [, table = ''] = /^\| part \|.*\n((?:\|.*\n)+)/m.exec(PAGE) ?? [];
  const [, deadline = ''] = /^### The deadline\n([\s\S]*?)^### /m.exec(PAGE) ?? [];
  const named = [...table.matchAll(/^\| `(\w+)`/gm), ...deadline.matchAll(/`(\w+)`(?: \(\d+\))? (?:counts|says)/g)];
  expect(named.map(([, field]) => field).sort()).toEqual(Object.keys(ReadyWhenSchema.properties).sort());
});
