import { expect, it } from 'vitest';
import { selfCheckReview } from '../../../../src/cluster/installation/self-check-review.ts';

it.each([
  { why: 'its own answer', status: 200, own: true, refusal: undefined },
  {
    why: 'a demand for a client certificate, which only the API server has',
    status: 401,
    own: false,
    refusal: undefined,
  },
  { why: "another server's answer", status: 200, own: false, refusal: 'it answered 200' },
  { why: 'not found', status: 404, own: false, refusal: 'it answered 404' },
])('$why: $refusal', ({ status, own, refusal }) => {
  const review = selfCheckReview();
  const { uid } = JSON.parse(review.body).request;

  expect(review.refusal(status, { response: { uid: own ? uid : 'another' } })).toBe(refusal);
});
