// @ts-check
/** @import { PageState } from '../state.ts' */
/** @import { Level } from './problems.js' */
import { counted, localTime, number } from './words.js';

/**
 * The serving certificate, and whether the registered webhooks trust it, in one line.
 *
 * @param {Pick<PageState, 'certificate' | 'webhooks'>} state
 * @returns {{ readonly text: string; readonly level: Level }}
 */
export function trustLine({ certificate, webhooks }) {
  if (certificate === undefined) return { text: 'no certificate yet', level: 'failed' };
  const [day = ''] = localTime(certificate.notAfter).split(' ');
  const hasExpired = certificate.daysLeft < 0;
  const distrusting = webhooks.filter(({ trusted }) => trusted === false).length;
  const isKnown = webhooks.some(({ trusted }) => trusted !== undefined);
  const all = counted(webhooks.length, 'webhook');
  const validity = hasExpired
    ? `certificate expired on ${day}`
    : `certificate until ${day} (${counted(certificate.daysLeft, 'day')})`;
  const trust = isKnown ? `${all} trusted` : all;
  return {
    // What is wrong comes first.
    text: (distrusting > 0
      ? [`${number(distrusting)} of ${all} not trusted`, validity]
      : [validity, ...(webhooks.length > 0 ? [trust] : [])]
    ).join(', '),
    level: hasExpired || distrusting > 0 ? 'failed' : certificate.expiresSoon ? 'attention' : 'ok',
  };
}
