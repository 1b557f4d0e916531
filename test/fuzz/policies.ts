import { match, ok } from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { parse } from 'yaml';
import { decodeReview } from '../../src/admission/admission-review.ts';
import { judgeRequest } from '../../src/admission/judge-request.ts';
import { InputError } from '../../src/files/input-error.ts';
import { parsePolicies } from '../../src/files/policy-files.ts';
import { translate } from '../../src/native/translate.ts';
import { type Policy, type PolicyKind, parsePolicy } from '../../src/policy/policy.ts';
import { compilePolicies } from '../../src/policy/policy-set.ts';
import { webhookEntries } from '../../src/webhooks/webhook-entries.ts';
import { SPECS } from '../e2e/policy-generators.ts';
import { policyObject } from '../e2e/policy-objects.ts';
import { REVIEWS } from './admission.ts';
import { hostileValue } from './hostile.ts';
import { mutatedJson, mutatedText } from './mutated.ts';
import { type FuzzTarget, target } from './target.ts';

const ROOT = join(import.meta.dirname, '../..');

/** Every policy file among the examples and the built-in ones. */
export const POLICY_TEXTS = [...filesIn('examples'), ...filesIn('manifests/policies')]
  .filter((file) => file.endsWith('.yaml'))
  .map((file) => readFileSync(file, 'utf8'))
  .filter((text) => text.includes('taintkeeper.dev/v1alpha1'));

const KINDS = Object.keys(SPECS) as PolicyKind[];

const REQUESTS = REVIEWS.map((review) => {
  const decoded = decodeReview(review);
  if (!decoded.ok) throw new Error(decoded.message);
  return decoded.request;
});

/** Policies as they come from files, and from the API server. */
export const POLICIES: readonly FuzzTarget[] = [
  target('a policy file', 2, fc.oneof(mutatedText(POLICY_TEXTS), fc.string({ unit: 'binary' })), (text) => {
    try {
      usable(parsePolicies([{ name: 'fuzz.yaml', text }]));
    } catch (error) {
      placed(error, 'fuzz.yaml');
    }
  }),
  target(
    'a policy object',
    1,
    fc.oneof(
      { weight: 3, arbitrary: mutatedJson(POLICY_TEXTS.map((text) => parse(firstDocument(text)))) },
      ...KINDS.map((kind) => ({
        weight: 1,
        arbitrary: SPECS[kind].map((spec): unknown => policyObject(kind, 'generated', spec)),
      })),
      hostileValue,
    ),
    (value) => {
      const result = parsePolicy(value);
      if (result.ok) usable([result.policy]);
      else ok(result.problems.length > 0 && result.problems.every(({ message }) => message !== ''));
    },
  ),
];

/** What is taken for a policy can be judged by, registered for, and written down as native policies. */
function usable(policies: readonly Policy[]): void {
  const compiled = compilePolicies(policies);
  webhookEntries(policies);
  for (const policy of policies) {
    if (policy.kind !== 'RecoveryPolicy') translate(policy, { among: policies, mutates: true, purpose: 'Backstop' });
  }
  for (const request of REQUESTS) {
    for (const phase of ['mutate', 'validate'] as const) judgeRequest(request, phase, compiled);
  }
}

/** An error is the reader's own, and says where. */
export function placed(error: unknown, file: string): void {
  if (!(error instanceof InputError)) throw error;
  ok(error.faults.length > 0);
  for (const fault of error.faults) {
    if (!fault.startsWith('no policy found')) match(fault, new RegExp(`^${file}(:\\d+:\\d+)?: \\S`));
  }
}

function firstDocument(text: string): string {
  return text.split(/^---$/m).find((part) => part.includes('kind:')) ?? '';
}

function filesIn(folder: string): string[] {
  const found = readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true });
  return found.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
}
