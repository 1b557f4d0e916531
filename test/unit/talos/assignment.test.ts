import { expect, it } from 'vitest';
import { assign } from '../../../src/talos/assignment.ts';
import type { LiveNode } from '../../../src/talos/live-node.ts';
import type { NodeDeclaration } from '../../../src/talos/node-declaration.ts';
import { declare, machine } from './declarations.ts';
import { live } from './live-nodes.ts';

const CONTROL_PLANE = { 'node-role.kubernetes.io/control-plane': '' };
const controlPlane = declare('cp.yaml', machine('controlplane'));
const worker = declare('worker.yaml', machine('worker'));
const labelled = (source: string, nodeLabels: object) => declare(source, machine('worker', { nodeLabels }));
const gpu = labelled('gpu.yaml', { pool: 'gpu' });
const cpu = labelled('cpu.yaml', { pool: 'cpu' });
const bigGpu = labelled('big.yaml', { pool: 'gpu', size: 'big' });
const named = declare('w7.yaml', machine('worker', { network: { hostname: 'w-7' } }));
const patch = declare('patch.yaml', '{"machine":{"nodeTaints":{"a":"NoSchedule"}}}');

it.each<{ what: string; node: LiveNode; files: NodeDeclaration[]; given?: NodeDeclaration; found: string }>([
  {
    what: 'said by the user',
    node: live('w-7', { pool: 'gpu' }),
    files: [named, gpu, worker],
    given: worker,
    found: '--node worker.yaml',
  },
  {
    what: 'a declared hostname',
    node: live('w-7', { pool: 'gpu' }),
    files: [gpu, worker, named],
    found: 'hostname w7.yaml',
  },
  { what: 'labels', node: live('a', { pool: 'gpu', x: 'y' }), files: [worker, gpu, cpu], found: 'labels gpu.yaml' },
  {
    what: 'the most labels',
    node: live('a', { pool: 'gpu', size: 'big' }),
    files: [gpu, bigGpu],
    found: 'labels big.yaml',
  },
  {
    what: 'fewer labels, where not all are there',
    node: live('a', { pool: 'gpu' }),
    files: [gpu, bigGpu],
    found: 'labels gpu.yaml',
  },
  {
    what: 'the role',
    node: live('a', { pool: 'other' }),
    files: [worker, gpu, controlPlane],
    found: 'role worker.yaml',
  },
  {
    what: 'the role of a control plane',
    node: live('c', CONTROL_PLANE),
    files: [worker, controlPlane],
    found: 'role cp.yaml',
  },
  {
    what: 'the role of a control plane that lacks a label of its own',
    node: live('c', CONTROL_PLANE),
    files: [worker, declare('tier.yaml', machine('controlplane', { nodeLabels: { tier: 'x' } }))],
    found: 'role tier.yaml',
  },
  {
    what: 'a label that Talos set and the node no longer has',
    node: live('a', {}, { owned: { labels: '["pool"]' } }),
    files: [worker, gpu],
    found: 'labels gpu.yaml',
  },
  {
    what: 'such a label, which might have been either',
    node: live('a', {}, { owned: { labels: '["pool"]' } }),
    files: [worker, gpu, cpu],
    found: 'it may be gpu.yaml or cpu.yaml',
  },
  {
    what: 'a hostname that two files declare',
    node: live('w-7'),
    files: [named, declare('w7-too.yaml', machine('worker', { network: { hostname: 'w-7.example.com' } }))],
    found: 'it may be w7.yaml or w7-too.yaml',
  },
  {
    what: 'labels of another pool: its taints must not be advised here',
    node: live('a', { pool: 'cpu' }),
    files: [gpu],
    found: 'no file is for a worker of that name, or with such labels',
  },
  {
    what: 'two of the same role',
    node: live('a'),
    files: [worker, labelled('b.yaml', {})],
    found: 'it may be worker.yaml or b.yaml',
  },
  {
    what: 'a hostname of another node',
    node: live('w-8'),
    files: [named],
    found: 'no file is for a worker of that name, or with such labels',
  },
  {
    what: 'a patch, which names neither a role nor a node',
    node: live('a'),
    files: [patch],
    found: 'no file is for a worker of that name, or with such labels',
  },
  {
    what: 'a worker for a control plane',
    node: live('c', CONTROL_PLANE),
    files: [worker],
    found: 'no file is for a control plane of that name, or with such labels',
  },
])('goes by $what', ({ node, files, given, found }) => {
  const result = assign([node], files, new Map(given ? [[node.name, given]] : []));
  expect([
    ...result.assigned.map(({ by, declaration }) => `${by} ${declaration.configuration.source}`),
    ...result.unassigned.map(({ why }) => why),
  ]).toEqual([found]);
});

it('says which files have no node', () => {
  const { unused } = assign([live('a', { pool: 'gpu' })], [worker, gpu, named], new Map());
  expect(unused).toEqual([worker, named]);
});
