import { expect, it } from 'vitest';
import type { PageState } from '../../../../src/page/state.ts';
import { trustLine } from '../../../../src/page/static/trust-line.js';

const NOW = Date.parse('2026-03-14T12:00:00Z');
const inDays = (days: number) => ({ notAfter: new Date(NOW + days * 86_400_000).toISOString(), daysLeft: days });
const [TRUSTED, DISTRUSTED, UNKNOWN] = [{ trusted: true }, { trusted: false }, {}].map((one) => ({
  name: 'w',
  ...one,
}));

it.each<{ why: string; state: object; text: string; level: string }>([
  { why: 'it is not issued yet', state: {}, text: 'no certificate yet', level: 'failed' },
  {
    why: 'nothing is registered',
    state: { certificate: inDays(60) },
    text: 'certificate until 2026-05-13 (60 days)',
    level: 'ok',
  },
  {
    why: 'every webhook has its CA',
    state: { certificate: inDays(60), webhooks: [TRUSTED, TRUSTED] },
    text: 'certificate until 2026-05-13 (60 days), 2 webhooks trusted',
    level: 'ok',
  },
  {
    why: 'the API server would not trust it for one webhook',
    state: { certificate: inDays(60), webhooks: [TRUSTED, DISTRUSTED] },
    text: '1 of 2 webhooks not trusted, certificate until 2026-05-13 (60 days)',
    level: 'failed',
  },
  {
    why: 'its CA is not known, so neither is what trusts it',
    state: { certificate: inDays(60), webhooks: [UNKNOWN] },
    text: 'certificate until 2026-05-13 (60 days), 1 webhook',
    level: 'ok',
  },
  {
    why: 'it should have been renewed',
    state: { certificate: { ...inDays(13), expiresSoon: true } },
    text: 'certificate until 2026-03-27 (13 days)',
    level: 'attention',
  },
  {
    why: 'it has ended',
    state: { certificate: inDays(-1), webhooks: [TRUSTED] },
    text: 'certificate expired on 2026-03-13, 1 webhook trusted',
    level: 'failed',
  },
])('$why', ({ state, text, level }) => {
  expect(trustLine({ webhooks: [], ...state } as Partial<PageState> as PageState)).toEqual({ text, level });
});
