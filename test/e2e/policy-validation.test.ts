import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { crdFiles } from '../../scripts/crds.ts';
import type { PolicyKind } from '../../src/policy/policy.ts';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { SPECS } from './policy-generators.ts';
import { policyObject, problemsOf } from './policy-objects.ts';
import { createPolicy, installCrds } from './policy-resources.ts';
import { MENDED_BY_THE_API_SERVER, VERDICTS } from './policy-verdicts.ts';

/** More of them with TAINTKEEPER_POLICY_SETS, where twenty specs count as a set. */
const GENERATED_SPECS_PER_KIND = 20 * Number(process.env.TAINTKEEPER_POLICY_SETS ?? 15);
const SPEC_TIMEOUT_MS = 200;
/** 400 is what strict field validation answers to a field that is unknown. */
const REFUSALS = [400, 422];

/** The messages of all CEL rules within a CRD. */
function ruleMessages(schema: unknown): string[] {
  if (typeof schema !== 'object' || schema === null) return [];
  const { 'x-kubernetes-validations': rules = [] } = schema as { 'x-kubernetes-validations'?: { message: string }[] };
  return [...rules.map(({ message }) => message), ...Object.values(schema).flatMap(ruleMessages)];
}

describeWithControlPlane('validation of policies', {}, (cp) => {
  beforeAll(() => installCrds(cp()));

  describe('the program and the API server agree on', () => {
    it.each(VERDICTS)('$kind: $why', async ({ kind, spec, field, words = '' }) => {
      const object = policyObject(kind, 'judged', spec);
      const problems = problemsOf(object);
      const answer = await createPolicy(cp(), object, { dryRun: true });
      if (field === undefined) {
        expect(problems).toEqual([]);
        expect(answer).toMatchObject({ status: 201, warnings: [] });
        return;
      }
      expect(problems).toEqual([expect.stringContaining(words)]);
      expect(problems[0]?.slice(0, field.length)).toBe(field);
      expect(REFUSALS).toContain(answer.status);
      expect(answer.body.message).toContain(field);
      expect(answer.body.message).toContain(words);
    });

    it('every rule of the CRDs: each is in the table', () => {
      const rules = new Set(Object.values(crdFiles()).flatMap((text) => ruleMessages(parse(text))));
      expect(new Set(VERDICTS.flatMap(({ words }) => words ?? []))).toEqual(rules);
    });

    it.each(Object.keys(SPECS) as PolicyKind[])(
      'whatever spec a %s has',
      async (kind) => {
        const verdicts = { accepted: 0, refused: 0 };
        await fc.assert(
          fc.asyncProperty(SPECS[kind], async (spec) => {
            const object = policyObject(kind, 'generated', spec);
            const problems = problemsOf(object);
            const { status, body } = await createPolicy(cp(), object, { dryRun: true });
            verdicts[problems.length === 0 ? 'accepted' : 'refused']++;
            const explained = { status, problems, message: status === 201 ? undefined : body.message };
            expect(explained).toMatchObject({ status: problems.length === 0 ? 201 : expect.toBeOneOf(REFUSALS) });
          }),
          { numRuns: GENERATED_SPECS_PER_KIND },
        );
        expect(Math.min(verdicts.accepted, verdicts.refused)).toBeGreaterThan(GENERATED_SPECS_PER_KIND / 10);
      },
      GENERATED_SPECS_PER_KIND * SPEC_TIMEOUT_MS,
    );
  });

  describe('the API server admits', () => {
    it.each(MENDED_BY_THE_API_SERVER)('$why, by dropping it', async ({ kind, spec, field }) => {
      const object = policyObject(kind, 'mended', spec);
      expect(problemsOf(object).map((problem) => problem.split(': ')[0])).toEqual([field]);
      const { status, body } = await createPolicy(cp(), object, { dryRun: true });
      expect(status).toBe(201);
      expect(problemsOf(body)).toEqual([]);
    });
  });
});
