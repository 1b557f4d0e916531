import { IGNORE_ANNOTATION } from '../judge/daemon-set-view.ts';
import type { Level, Section, StateCell } from './display.ts';
import type { PoliciesOnDaemon, TolerationOnDaemon } from './policies-on-daemon.ts';
import { namedBy } from './policy-field.ts';
import { policyTable } from './sections.ts';

const LEVELS: Readonly<Record<TolerationOnDaemon['state'], Level>> = {
  missing: 'failed',
  required: 'ok',
  own: 'quiet',
};

const YES: StateCell = { text: 'yes', level: 'ok' };
/** Its pods are evicted again. */
const FOR_A_WHILE: StateCell = { text: 'for a while', level: 'attention' };
const NOT_YET: StateCell = { text: 'not yet', level: 'attention' };
const NO: StateCell = { text: 'no', level: 'failed' };

/** The tolerations that it has or lacks. @param subject such as `pod NAMESPACE/NAME` */
export function tolerationSection(subject: string, { tolerations }: PoliciesOnDaemon): Section {
  return tolerations.length === 0
    ? { lines: [`${subject} has no tolerations of its own, and no policy requires one there`] }
    : {
        head: ['Toleration', 'State', 'Why'],
        rows: tolerations.map((one) => [one.toleration, { text: one.state, level: LEVELS[one.state] }, whyOf(one)]),
      };
}

/** Why policies leave it alone. @param daemonSet such as `its DaemonSet` */
export function leftAloneLines(daemonSet: string, { optsOut, deleting }: PoliciesOnDaemon): string[] {
  return [
    ...(optsOut ? [`it is annotated ${IGNORE_ANNOTATION}: policies leave it alone`] : []),
    ...(deleting ? [`${daemonSet} is being deleted: policies leave it alone`] : []),
  ];
}

/** Which policies select it. @param head of the column that says so */
export function policySection(head: string, { policies }: PoliciesOnDaemon): Section {
  return policyTable(policies, {
    head: ['Policy', 'Mode', head],
    none: 'there are no TolerationPolicies and no RecoveryPolicies',
    cellOf: ({ kind, policy }) => ({ text: `${kind} ${policy}`, policy: `${kind}/${policy}` }),
  });
}

/** On which nodes its pods run. @param head of the column that says so */
export function placeSection(head: string, { places }: PoliciesOnDaemon): Section {
  return {
    head: ['Nodes', 'Which', head, 'Why'],
    rows: places.map(({ nodes, runs, why, evictedBy, passing }) => [
      String(nodes.length),
      { nodes },
      runs ? (evictedBy.length > 0 ? FOR_A_WHILE : YES) : passing ? NOT_YET : NO,
      why.join('; '),
    ]),
  };
}

function whyOf({ state, by, cutShortBy }: TolerationOnDaemon): string {
  switch (state) {
    case 'own':
      return 'no policy requires it';
    case 'required':
    case 'missing':
      return `required by ${namedBy(by)}${cutShortBy ? `, but its own ${cutShortBy.join(' and ')} comes first` : ''}`;
  }
}
