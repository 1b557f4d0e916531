import { expect, it } from 'vitest';
import { judgeRequest } from '../../../src/admission/judge-request.ts';
import { answer, badRequest, internalError } from '../../../src/admission/response.ts';
import { policySet } from '../policy/policies.ts';
import { nodeRequest } from './requests.ts';

const gpu = { key: 'dedicated', value: 'gpu', effect: 'NoSchedule' };
const removing = nodeRequest({
  object: { metadata: { name: 'n1' }, spec: {} },
  oldObject: { metadata: {}, spec: { taints: [gpu] } },
});
const policyIn = (mode: 'Deny' | 'Restore') => policySet({ taint: { p: { mode, taints: [{ key: 'dedicated' }] } } });

it('a decision without findings only allows the request', () => {
  expect(answer('u', judgeRequest(removing, 'mutate', policySet({})))).toEqual({
    apiVersion: 'admission.k8s.io/v1',
    kind: 'AdmissionReview',
    response: { uid: 'u', allowed: true },
  });
});

it('a denial has a status with code, reason and message', () => {
  const { response } = answer('u', judgeRequest(removing, 'validate', policyIn('Deny')));
  expect(response).toMatchObject({
    uid: 'u',
    allowed: false,
    status: { status: 'Failure', code: 403, reason: 'Forbidden', message: expect.stringContaining('TaintPolicy "p"') },
    auditAnnotations: { denied: 'p: dedicated=gpu:NoSchedule' },
  });
  expect(response).not.toHaveProperty('patch');
});

it('a patch is base64 of a JSON patch, with a warning', () => {
  const { response } = answer('u', judgeRequest(removing, 'mutate', policyIn('Restore')));
  expect(response).toMatchObject({
    allowed: true,
    patchType: 'JSONPatch',
    warnings: [expect.stringContaining('restored')],
  });
  expect(JSON.parse(Buffer.from(response.patch ?? '', 'base64').toString())).toEqual([
    { op: 'add', path: '/spec/taints', value: [gpu] },
  ]);
});

it.each([
  [badRequest('u', 'why'), 400, 'BadRequest'],
  [internalError('u'), 500, 'InternalError'],
])('a failure is a well-formed refusal: %o', (review, code, reason) => {
  expect(review.response).toMatchObject({ uid: 'u', allowed: false, status: { status: 'Failure', code, reason } });
});
