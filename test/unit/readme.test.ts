import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { decodeReview } from '../../src/admission/admission-review.ts';
import { judgeRequest } from '../../src/admission/judge-request.ts';
import { answer } from '../../src/admission/response.ts';
import { readBuiltinPolicies } from '../../src/files/builtin-policies.ts';
import { parsePolicies } from '../../src/files/policy-files.ts';
import { compilePolicies } from '../../src/policy/policy-set.ts';
import { readmeBlocks } from '../readme.ts';

const ROOT = join(import.meta.dirname, '..', '..');

it("the README's curl is answered as it says", async () => {
  const [block = ''] = readmeBlocks('curl');
  const example = /@(examples\/\S+)/.exec(block)?.[1] ?? '';
  const review = decodeReview(JSON.parse(readFileSync(join(ROOT, example), 'utf8')));
  if (!review.ok) throw new Error(review.message);
  const policies = compilePolicies(parsePolicies(await readBuiltinPolicies()));
  const body = answer(review.request.uid, judgeRequest(review.request, 'validate', policies));
  expect(block.split('\n')).toContain(JSON.stringify(body));
});

it("the README's policy is the example", () => {
  const readme = readFileSync(join(ROOT, 'README.md'), 'utf8');
  const [, policy = ''] = /```yaml\n([\s\S]*?)```/.exec(readme) ?? [];
  expect(policy).toMatch(/^kind: TaintPolicy$/m);
  expect(readFileSync(join(ROOT, 'examples', 'policies', 'gpu-pool.yaml'), 'utf8')).toContain(policy);
});
