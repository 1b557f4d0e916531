// @ts-check
/** @import { CertificateState, PageState, WebhookState } from '../state.ts' */
import { breakable, byId, drawn, fill, h, signed, spoken, svg } from './dom.js';
import { counted, DAY_MS, localTime, number } from './words.js';

/** A serving certificate is renewed when a third of its 90 days is left. */
const RENEWED_AT = 2 / 3;

/** The panel of certificate, webhooks and the program's own checks. */
export function trustView() {
  return {
    /**
     * @param {PageState} state
     * @param {number} now
     */
    show({ checks, certificate, webhooks, mode }, now) {
      fill(byId('checks-body'), checks, () =>
        checks.map(({ name, state, detail }) => {
          const level = state === 'degraded' ? 'attention' : state;
          return h(
            'tr',
            {},
            h('th', { scope: 'row' }, name),
            h('td', {}, signed(level, state)),
            h('td', {}, ...breakable(detail)),
          );
        }),
      );
      // The smallest unit shown is a day.
      fill(byId('certificate'), [certificate, Math.floor(now / DAY_MS)], () => certificateOf(certificate, now));
      byId('webhooks-present').hidden = webhooks.length === 0;
      byId('webhooks-none').hidden = webhooks.length > 0;
      byId('webhooks-none').textContent =
        mode === 'standalone'
          ? 'In standalone mode taintkeeper registers no webhooks: register them yourself.'
          : 'None is registered yet: no request reaches taintkeeper.';
      fill(byId('webhooks-body'), webhooks, () => webhooks.map(webhookOf));
    },
  };
}

/**
 * @param {CertificateState | undefined} certificate
 * @param {number} now
 */
function certificateOf(certificate, now) {
  if (!certificate) return [h('p', {}, signed('failed', 'There is no certificate yet.'))];
  const { subject, names, notBefore, notAfter, caNotAfter, renews, fault } = certificate;
  const begin = Date.parse(notBefore);
  const end = Date.parse(notAfter);
  const days = Math.floor((end - now) / DAY_MS);
  const whole = Math.round((end - begin) / DAY_MS);
  const level = days < 0 ? 'failed' : days < 14 ? 'attention' : 'ok';
  const left = days < 0 ? 'expired' : `${counted(days, 'day')} left`;
  const spent = Math.min(1, Math.max(0, (now - begin) / (end - begin)));
  return [
    h(
      'p',
      { class: 'life' },
      h('strong', { class: `is-${level}` }, left),
      h('span', { class: 'quiet' }, ` of ${number(whole)}. ${renewal(renews)}`),
    ),
    lifeBar(spent, renews !== 'nothing', `${left} of ${number(whole)}`, level),
    h('p', { class: 'quiet ends' }, h('span', {}, localTime(notBefore)), h('span', {}, localTime(notAfter))),
    fault !== undefined && h('p', {}, signed('attention', fault)),
    h(
      'dl',
      {},
      h('dt', {}, 'Subject'),
      h('dd', { class: 'mono' }, subject),
      h('dt', {}, 'Names'),
      h('dd', { class: 'mono' }, ...names.map((name) => h('span', { class: 'line' }, ...breakable(name)))),
      caNotAfter !== undefined && h('dt', {}, 'CA until'),
      caNotAfter !== undefined &&
        h(
          'dd',
          {},
          `${localTime(caNotAfter)}, ${counted(Math.max(0, Math.floor((Date.parse(caNotAfter) - now) / DAY_MS)), 'day')} left`,
        ),
    ),
  ];
}

/** @param {CertificateState['renews']} renews */
function renewal(renews) {
  switch (renews) {
    case 'nothing':
      return 'It is not for taintkeeper to renew.';
    case 'serving':
      return 'Renewed by itself when a third is left; its CA is not.';
    case 'all':
      return 'Renewed by itself when a third is left.';
  }
}

/**
 * @param {number} spent from 0 to 1
 * @param {boolean} renewed
 * @param {string} label
 * @param {string} level
 */
function lifeBar(spent, renewed, label, level) {
  return svg(
    'svg',
    { class: 'bar', role: 'img', 'aria-label': label, width: '100%', height: '14' },
    svg('rect', { class: 'track', width: '100%', height: '14', rx: '2' }),
    svg('rect', {
      class: `left is-${level}`,
      x: `${100 * spent}%`,
      width: `${100 * (1 - spent)}%`,
      height: '14',
      rx: '2',
    }),
    ...(renewed
      ? [svg('line', { class: 'renewal', x1: `${100 * RENEWED_AT}%`, x2: `${100 * RENEWED_AT}%`, y1: '0', y2: '14' })]
      : []),
  );
}

/** @param {WebhookState} webhook */
function webhookOf({ name, configuration, failurePolicy, timeoutSeconds, trusted, rules, conditions }) {
  return h(
    'tr',
    {},
    h(
      'th',
      { scope: 'row' },
      h('span', { class: 'mono' }, ...breakable(name)),
      h('span', { class: 'quiet line' }, configuration === 'MutatingWebhookConfiguration' ? 'mutating' : 'validating'),
    ),
    h('td', {}, ...rules.map((rule) => h('span', { class: 'line' }, rule))),
    h(
      'td',
      {},
      failurePolicy,
      h(
        'span',
        { class: 'quiet line' },
        failurePolicy === 'Fail' ? 'refused while taintkeeper is down' : 'allowed while taintkeeper is down',
      ),
    ),
    h(
      'td',
      { class: 'figure' },
      timeoutSeconds === undefined ? h('span', {}, drawn('–'), spoken('not set')) : `${timeoutSeconds} s`,
    ),
    h(
      'td',
      {},
      trusted === undefined
        ? h('span', { class: 'quiet' }, 'not known')
        : trusted
          ? signed('ok', 'trusted')
          : signed('failed', 'not trusted'),
    ),
    h(
      'td',
      {},
      conditions.length === 0 ? h('span', { class: 'quiet' }, 'none') : '',
      ...conditions.map((condition) => h('span', { class: 'line mono' }, ...breakable(condition))),
    ),
  );
}
