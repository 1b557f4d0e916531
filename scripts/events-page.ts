import { EVENT_REASONS } from '../src/kubernetes/event-reasons.ts';

/** The reference page of Events, from the table of their reasons. */
export function eventsPage(): string {
  return [
    '# Events\n',
    'taintkeeper writes Events of `events.k8s.io/v1` with the reporting controller `taintkeeper.dev/taintkeeper`. ' +
      '`kubectl describe node NODE` shows those of a node, and `kubectl events --for taintpolicy/POLICY` those of a policy. ' +
      'Events of objects without a namespace are in the namespace `default`. [Operating](../operating.md#events) says when an Event is left out.\n',
    '| reason | on | meaning |',
    '| --- | --- | --- |',
    ...Object.entries(EVENT_REASONS)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([reason, { on, meaning }]) => `| \`${reason}\` | ${on} | ${meaning} |`),
    '',
  ].join('\n');
}
