import { describe, expect, it } from 'vitest';
import { LEVEL } from '../captured-log.ts';
import { nodeObject, taintRemovalReview } from '../reviews.ts';
import { startServer } from './running-server.ts';

const LABELS = Object.fromEntries(Array.from({ length: 60_000 }, (_, n) => [`label-${n}`, '']));

describe('while the policies have not been read, a review is answered with an AdmissionReview that fails, and counts as an error:', () => {
  it.each([
    { what: 'a review of ordinary size', labels: {} },
    { what: 'a review that is cut to what is read', labels: LABELS },
  ])('$what', async ({ labels }) => {
    const server = await startServer({ failing: new Error('the policies have not been read yet') });
    const { status, text } = await server.post(taintRemovalReview({ object: nodeObject([], { labels }) }));

    expect(status).toBe(500);
    expect(JSON.parse(text)).toMatchObject({
      kind: 'AdmissionReview',
      response: { uid: 'uid-1', allowed: false, status: { code: 500, reason: 'InternalError' } },
    });
    expect(server.log.lines()).toEqual([
      expect.objectContaining({
        ...{ level: LEVEL.error, msg: 'judging failed', uid: 'uid-1', name: 'cp-1', origin: '127.0.0.1' },
        err: expect.objectContaining({ message: 'the policies have not been read yet' }),
      }),
    ]);
    const counted = await server.metrics.registry.getSingleMetricAsString('taintkeeper_admission_requests_total');
    expect(counted).toContain('{path="validate",result="error"} 1');
  });
});
