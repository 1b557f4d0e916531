import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type PolicyKind, parsePolicy } from '../../../src/policy/policy.ts';
import type { Path } from '../../../src/policy/problem.ts';
import { scenario } from '../../e2e/native-daemon-set-scenarios.ts';
import { POLICY_CASES } from '../../e2e/policy-cases.ts';
import { SPECS } from '../../e2e/policy-generators.ts';
import { taintPolicies, tolerationPolicies } from '../admission/generators.ts';
import { policies } from '../cel-rules/scenarios.ts';
import { fieldsIn, fieldsOf } from './fields.ts';
import { manifest } from './policies.ts';
import { SPEC_SCHEMAS } from './spec-schemas.ts';

// A field that no generator knows is a field that all these comparisons pass by: whoever adds one to a schema is told here.

/** Each of many fields is wrong now and then only. */
const MIXED_SPECS = 2_000;
const RIGHT_SPECS = 300;

const KINDS = Object.keys(SPEC_SCHEMAS) as PolicyKind[];

const isChoice = (field: string) => field.includes(': ');

const fields = (kind: PolicyKind) => fieldsOf(SPEC_SCHEMAS[kind], 'spec');

/** What of the kind's fields is in none of the policies. */
function unused(kind: PolicyKind, policies: readonly { readonly spec: unknown }[]): string[] {
  const used = new Set(policies.flatMap(({ spec }) => fieldsIn(spec, 'spec')));
  return fields(kind).filter((field) => !used.has(field));
}

const judged = (kind: PolicyKind, spec: unknown) => parsePolicy(manifest(kind, 'generated', spec));

/** A problem's place, as a schema has it. */
function fieldAt(path: Path): string {
  return path.map((part, index) => (typeof part === 'number' ? '[]' : index === 0 ? part : `.${part}`)).join('');
}

describe.each(KINDS)('specs of a %s, right and wrong, have', (kind) => {
  const results = fc.sample(SPECS[kind], MIXED_SPECS).map((spec) => ({ spec, result: judged(kind, spec) }));

  it('every field, with every value that it may have, in one that is right', () => {
    const right = results.filter(({ result }) => result.ok);
    expect(unused(kind, right)).toEqual([]);
  });

  it('every field that is wrong', () => {
    const wrong = new Set(
      results.flatMap(({ result }) => (result.ok ? [] : result.problems.map(({ path }) => fieldAt(path)))),
    );
    expect(fields(kind).filter((field) => !isChoice(field) && !wrong.has(field))).toEqual([]);
  });
});

it.each(KINDS)('every field of a %s is in the table of cases', (kind) => {
  const right = POLICY_CASES.filter((one) => one.kind === kind && one.field === undefined);
  expect(unused(kind, right).filter((field) => !isChoice(field))).toEqual([]);
});

/** Fields that no request about a node or a DaemonSet is answered by. */
const BESIDE_REQUESTS = ['readyWhen', 'tolerate', 'authorization'];

/** Those of the fields that a request may be answered by. */
function compared(of: readonly string[]): string[] {
  return of.filter((field) => !BESIDE_REQUESTS.some((name) => field.split(/[.:]/).includes(name)));
}

describe('every field, with every value that it may have, is', () => {
  const all = fc.sample(policies, RIGHT_SPECS).flat();
  it.each(['TaintPolicy', 'TolerationPolicy'] as const)('in what webhooks and engine are compared with: %s', (kind) => {
    const ofKind = all.filter((policy) => policy.kind === kind);
    expect(compared(unused(kind, ofKind))).toEqual([]);
  });

  it('in what native tolerations and engine are compared with', () => {
    const generated = fc.sample(scenario(1), RIGHT_SPECS).flatMap((one) => one.policies);
    expect(unused('TolerationPolicy', generated)).toEqual([]);
  });

  it.each([
    ['TaintPolicy', taintPolicies],
    ['TolerationPolicy', tolerationPolicies],
  ] as const)('in what the engine is tried with: %s', (kind, byName) => {
    const specs = fc.sample<Record<string, unknown>>(byName, RIGHT_SPECS).flatMap((all) => Object.values(all));
    const generated = specs.map((spec) => ({ spec }));
    expect(compared(unused(kind, generated))).toEqual([]);
    expect(generated.filter(({ spec }) => !judged(kind, spec).ok)).toEqual([]);
  });
});
