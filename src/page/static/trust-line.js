// @ts-check
/** @import { PageState } from '../state.ts' */
/** @import { Level } from './problems.js' */
import { counted, DAY_MS, localTime, number } from './words.js';

/**
 * The serving certificate, and whether the registered webhooks trust it, in one line.
 *
 * @param {Pick<PageState, 'certificate' | 'webhooks'>} state
 * @param {number} now milliseconds since the epoch
 * @returns {{ readonly text: string; readonly level: Level }}
 */
export function trustLine({ certificate, webhooks }, now) {
  if (certificate === undefined) return { text: 'no certificate yet', level: 'failed' };
  const [day = ''] = localTime(certificate.notAfter).split(' ');
  const left = Date.parse(certificate.notAfter) - now;
  const distrusting = webhooks.filter(({ trusted }) => trusted === false).length;
  const isKnown = webhooks.some(({ trusted }) => trusted !== undefined);
  const all = counted(webhooks.length, 'webhook');
  const validity =
    left <= 0
      ? `certificate expired on ${day}`
      : `certificate until ${day} (${counted(Math.floor(left / DAY_MS), 'day')})`;
  const trust = isKnown ? `${all} trusted` : all;
  return {
    // What is wrong comes first.
    text: (distrusting > 0
      ? [`${number(distrusting)} of ${all} not trusted`, validity]
      : [validity, ...(webhooks.length > 0 ? [trust] : [])]
    ).join(', '),
    level: left <= 0 || distrusting > 0 ? 'failed' : certificate.expiresSoon ? 'attention' : 'ok',
  };
}
