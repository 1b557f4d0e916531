import { join } from 'node:path';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { crdFiles } from '../../scripts/crds.ts';
import type { PolicyKind } from '../../src/policy/policy.ts';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { admin } from '../control-plane/users.ts';
import { allPages } from '../unit/docs/pages.ts';
import { temporaryDirectory } from '../unit/temporary-directory.ts';
import { guideLines } from './guide-commands.ts';
import { pasteRemedy } from './paste-remedy.ts';
import { CLEARED_BY_THE_API_SERVER, POLICY_CASES } from './policy-cases.ts';
import { SPECS } from './policy-generators.ts';
import { policyObject, problemsOf } from './policy-objects.ts';
import { createPolicy, installCrds, POLICIES_PATH } from './policy-resources.ts';

/** More of them with TAINTKEEPER_POLICY_SETS, where twenty specs count as a set. */
const GENERATED_SPECS_PER_KIND = 20 * Number(process.env.TAINTKEEPER_POLICY_SETS ?? 15);
const SPEC_TIMEOUT_MS = 200;
/** 400 is what strict field validation answers to a field that is unknown. */
const REFUSALS = [400, 422];

/** The commands of the pages that set a TaintPolicy to mode Audit. */
const AUDIT_PATCHES = allPages().flatMap(({ path, text }) =>
  [...text.matchAll(/kubectl patch taintpolicy (\S+) .*"mode":"Audit".*$/gm)].map(([command, name]) => ({
    ...{ path, command, name },
  })),
);

/** The messages of all CEL rules within a CRD. */
function ruleMessages(schema: unknown): string[] {
  if (typeof schema !== 'object' || schema === null) return [];
  const { 'x-kubernetes-validations': rules = [] } = schema as { 'x-kubernetes-validations'?: { message: string }[] };
  return [...rules.map(({ message }) => message), ...Object.values(schema).flatMap(ruleMessages)];
}

describeWithControlPlane('validation of policies', {}, (cp) => {
  beforeAll(() => installCrds(cp()));

  describe('the program and the API server agree on', () => {
    it.each(POLICY_CASES)('$kind: $why', async ({ kind, spec, field, words = '' }) => {
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
      expect(new Set(POLICY_CASES.flatMap(({ words }) => words ?? []))).toEqual(rules);
    });

    it.each(Object.keys(SPECS) as PolicyKind[])(
      'whatever spec a %s has',
      async (kind) => {
        const counts = { accepted: 0, refused: 0 };
        await fc.assert(
          fc.asyncProperty(SPECS[kind], async (spec) => {
            const object = policyObject(kind, 'generated', spec);
            const problems = problemsOf(object);
            const { status, body } = await createPolicy(cp(), object, { dryRun: true });
            counts[problems.length === 0 ? 'accepted' : 'refused']++;
            const explained = { status, problems, message: status === 201 ? undefined : body.message };
            expect(explained).toMatchObject({ status: problems.length === 0 ? 201 : expect.toBeOneOf(REFUSALS) });
          }),
          { numRuns: GENERATED_SPECS_PER_KIND },
        );
        expect(Math.min(counts.accepted, counts.refused)).toBeGreaterThan(GENERATED_SPECS_PER_KIND / 10);
      },
      GENERATED_SPECS_PER_KIND * SPEC_TIMEOUT_MS,
    );
  });

  describe('every command of the pages that sets a policy to mode Audit is accepted', () => {
    const RULES = { taints: [{ key: 'dedicated', effect: 'NoSchedule' }] };
    const SPECS_BEFORE = [
      { mode: 'Deny', failurePolicy: 'Fail', ...RULES },
      { mode: 'Restore', failurePolicy: 'Fail', ...RULES },
      { mode: 'Restore', failurePolicy: 'Ignore', backstop: 'Native', ...RULES },
      { mode: 'Deny', ...RULES },
    ];
    const create = async (name: string, spec: object) => {
      await cp().request(admin, 'DELETE', `${POLICIES_PATH.TaintPolicy}/${name}`);
      expect(await createPolicy(cp(), policyObject('TaintPolicy', name, spec))).toMatchObject({ status: 201 });
    };
    const specOf = async (name: string) =>
      (await cp().request<{ spec: object }>(admin, 'GET', `${POLICIES_PATH.TaintPolicy}/${name}`)).body.spec;

    it('there are such commands', () => {
      expect(new Set(AUDIT_PATCHES.map(({ path }) => path))).toEqual(new Set(['docs/on-call.md']));
    });

    it.each(AUDIT_PATCHES)('$path: $command', async ({ command, name = '' }) => {
      for (const spec of SPECS_BEFORE) {
        await create('audited', spec);
        const before = await specOf('audited');
        await pasteRemedy(cp(), command.replace(name, 'audited'));
        expect(await specOf('audited')).toEqual({ ...before, mode: 'Audit', failurePolicy: undefined });
      }
    });

    it('and the file that the page saves first brings the policy back', async () => {
      const folder = temporaryDirectory();
      const steps = [0, 1].flatMap((block) => guideLines('on-call.md', 'Set a policy to mode Audit', block));
      const [save, patch, replace, ...others] = steps.map((line) =>
        line.replace('POLICY.yaml', join(folder, 'policy.yaml')).replaceAll('POLICY', 'gpu-pool'),
      );
      expect(others).toEqual([]);
      for (const spec of SPECS_BEFORE) {
        await create('gpu-pool', spec);
        const before = await specOf('gpu-pool');
        await pasteRemedy(cp(), save);
        await pasteRemedy(cp(), patch);
        expect(await specOf('gpu-pool')).toMatchObject({ mode: 'Audit' });
        await pasteRemedy(cp(), replace);
        expect(await specOf('gpu-pool')).toEqual(before);
      }
    });
  });

  describe('the API server admits', () => {
    it.each(CLEARED_BY_THE_API_SERVER)('$why, and removes it', async ({ kind, spec, field }) => {
      const object = policyObject(kind, 'cleared', spec);
      expect(problemsOf(object).map((problem) => problem.split(': ')[0])).toEqual([field]);
      const { status, body } = await createPolicy(cp(), object, { dryRun: true });
      expect(status).toBe(201);
      expect(problemsOf(body)).toEqual([]);
    });
  });
});
