import { EVENT_REASONS } from '../src/policy/reporting/event-reasons.ts';

/** The reference page of Events, from the table of their reasons. */
export function eventsPage(): string {
  return [
    '# Events\n',
    'taintkeeper writes Events of `events.k8s.io/v1` with the reporting controller `taintkeeper.dev/taintkeeper`. ' +
      '`kubectl describe node NODE` shows those of a node, and `kubectl events --for taintpolicy/POLICY` those of a policy. ' +
      'Events of objects without a namespace are in the namespace `default`. [Some are left out](#limits).\n',
    '| reason | on | meaning |',
    '| --- | --- | --- |',
    ...Object.entries(EVENT_REASONS)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([reason, { on, meaning }]) => `| \`${reason}\` | ${on} | ${meaning} |`),
    '',
    '## Limits\n',
    '- A replica counts equal Events as one, and writes at most one in two seconds after the first 20. So the Events of 50 nodes that lose a startup taint at once take ' +
      'about a minute.',
    '- Up to 128 Events of requests wait, and up to 128 of the work of the replica itself. Further ones are discarded, and the alert ' +
      '[TaintkeeperEventsDropped](../runbooks/TaintkeeperEventsDropped.md) says so.',
    '- The Event of a request is written a second or more later, once the API server confirms that the object exists. There is none if the object was deleted since, if its name ' +
      'was generated, or if [a pod forged the request](../security.md#a-pod-that-reaches-the-webhook).',
    '- A node that registers with a startup taint of `ensure: UntilReady` has no Event for it. The Event of the removal says when and why it ended.',
    '',
  ].join('\n');
}
