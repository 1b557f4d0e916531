import { describe, expect, it } from 'vitest';
import { type AdmissionRequest, decodeReview, requesterOf } from '../../../src/admission/admission-review.ts';
import { nodeRequest } from './requests.ts';

const request = nodeRequest({ object: { metadata: {} } });
const review = { apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', request };

describe('decodeReview', () => {
  it('reads a review without changing or omitting a part', () => {
    const whole = {
      ...review,
      request: { ...request, requestResource: { group: '' }, options: { fieldManager: 'x' } },
    };
    const before = structuredClone(whole);
    const decoded = decodeReview(whole);
    expect(decoded).toMatchObject({ ok: true });
    expect(decoded.ok && decoded.request).toBe(whole.request);
    expect(whole).toEqual(before);
  });

  it.each<[why: string, value: unknown, uid: string | undefined, message: string]>([
    ['nothing', undefined, undefined, 'expected an AdmissionReview'],
    ['null', null, undefined, 'expected an AdmissionReview'],
    ['a list', [], undefined, 'expected an AdmissionReview'],
    ['another kind', { ...review, kind: 'Pod' }, request.uid, 'expected an AdmissionReview'],
    [
      'v1beta1',
      { ...review, apiVersion: 'admission.k8s.io/v1beta1' },
      request.uid,
      'expected apiVersion admission.k8s.io/v1, got admission.k8s.io/v1beta1: set admissionReviewVersions to ["v1"]',
    ],
    ['no request', { apiVersion: review.apiVersion, kind: review.kind }, undefined, 'request is missing'],
    [
      'no uid',
      { ...review, request: { ...request, uid: undefined } },
      undefined,
      'request.uid: expected a string, got nothing',
    ],
    [
      'an empty uid',
      { ...review, request: { ...request, uid: '' } },
      undefined,
      'request.uid: must not have fewer than 1 characters, got ""',
    ],
    [
      'a uid that is a number',
      { ...review, request: { ...request, uid: 5 } },
      undefined,
      'request.uid: expected a string, got 5',
    ],
    [
      'no operation',
      { ...review, request: { ...request, operation: undefined } },
      request.uid,
      'request.operation: expected a string, got nothing',
    ],
    [
      'no resource',
      { ...review, request: { ...request, resource: 'nodes' } },
      request.uid,
      'request.resource: expected a map, got "nodes"',
    ],
    [
      'no user',
      { ...review, request: { ...request, userInfo: null } },
      request.uid,
      'request.userInfo: expected a map, got null',
    ],
    [
      'groups that are no list',
      { ...review, request: { ...request, userInfo: { groups: 'x' } } },
      request.uid,
      'request.userInfo.groups: expected a list, got "x"',
    ],
  ])('refuses %s', (_why, value, uid, message) => {
    expect(decodeReview(value)).toEqual({ ok: false, uid, message });
  });
});

it('groups of a requester beyond the limits of number, length and total length do not count', () => {
  const requester = (groups: string[]) =>
    requesterOf({ userInfo: { username: 'u', groups } } as AdmissionRequest).groups;
  const usual = Array.from({ length: 1_000 }, (_, index) => `oidc:team-${index}`);
  expect(requester(usual)).toEqual(usual);
  expect(requester([...usual, 'x'.repeat(1_025), 'last'])).toEqual([...usual, 'last']);
  expect(requester(Array(1_025).fill('g'))).toHaveLength(1_024);
  expect(requester(Array(1_000).fill('x'.repeat(1_000)))).toHaveLength(65);
});
