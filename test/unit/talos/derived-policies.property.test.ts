import fc from 'fast-check';
import { expect, it } from 'vitest';
import { InputError } from '../../../src/files/text-files.ts';
import { formatTaint } from '../../../src/kubernetes/taint.ts';
import { derivePolicies } from '../../../src/talos/derived-policies.ts';
import type { NodeDeclaration } from '../../../src/talos/node-declaration.ts';
import { formatPolicies } from '../../../src/talos/policy-text.ts';
import { declare, machine } from './declarations.ts';
import { registering } from './registering.ts';

const oneOf = (...values: string[]) => fc.constantFrom(...values);
const optional = (shape: Record<string, fc.Arbitrary<string>>) => fc.record(shape, { requiredKeys: [] });

const taints = optional({
  dedicated: oneOf('gpu:NoSchedule', 'cpu:NoSchedule', 'gpu:NoExecute'),
  'example.com/soft': oneOf('PreferNoSchedule'),
});
const configuration = fc.record({
  type: oneOf('controlplane', 'worker', 'worker'),
  nodeTaints: taints,
  nodeLabels: optional({
    pool: oneOf('a', 'b', 'c'),
    tier: oneOf('x', 'y'),
    'topology.kubernetes.io/zone': oneOf('1', '2'),
  }),
});

type Drawn = typeof configuration extends fc.Arbitrary<infer T> ? T : never;

const declareAll = (drawn: readonly Drawn[], labels: (index: number) => object = () => ({})): NodeDeclaration[] =>
  drawn.map(({ type, nodeTaints, nodeLabels }, index) =>
    declare(`${index}.yaml`, machine(type, { nodeTaints, nodeLabels: { ...nodeLabels, ...labels(index) } })),
  );

function expectExact(declarations: readonly NodeDeclaration[]): void {
  const taintsOf = registering(formatPolicies(derivePolicies(declarations, { mode: 'Restore' })));
  for (const declaration of declarations) {
    expect(taintsOf(declaration)).toEqual(declaration.taints.map(formatTaint).sort());
  }
}

it('policies add to the nodes of every file exactly the taints that it declares, or there are none', () => {
  let derived = 0;
  fc.assert(
    fc.property(fc.array(configuration, { minLength: 1, maxLength: 5 }), (drawn) => {
      const declarations = declareAll(drawn);
      try {
        expectExact(declarations);
        derived += 1;
      } catch (error) {
        if (!(error instanceof InputError)) throw error;
      }
    }),
    { numRuns: 100 },
  );
  expect(derived).toBeGreaterThan(10);
});

it('there are some wherever each file has a label that tells its nodes from all others', () => {
  fc.assert(
    fc.property(fc.array(configuration, { minLength: 1, maxLength: 5 }), (drawn) => {
      const declarations = declareAll(drawn, (index) => ({ own: `v${index}` }));
      fc.pre(declarations.some((declaration) => declaration.taints.length > 0));
      expectExact(declarations);
    }),
    { numRuns: 100 },
  );
});
