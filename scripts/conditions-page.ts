import {
  assessCondition,
  CONDITIONS,
  type ConditionLevel,
  NATIVE_REASONS,
  type Reason,
} from '../src/policy/reporting/status-conditions.ts';

const LEVELS: Readonly<Record<ConditionLevel, string>> = {
  failed: 'the policy is not in force, or an earlier version of it is. See the reason',
  problem: 'something that the policy declares is not done',
  attention: '`taintkeeper doctor` prints a note',
  quiet: 'the policy is also `Stalled` (`BackstopNotInForce`)',
};
const HEAD = ['| status | reason | meaning | what to do |', '| --- | --- | --- | --- |'];
const NATIVE_TITLE = 'Why native policies are not in force';
const NATIVE_LINK = `[${NATIVE_TITLE}](#why-native-policies-are-not-in-force)`;

/** The reference page of the conditions of policies, from their table. */
export function conditionsPage(): string {
  return [
    '# Conditions of policies\n',
    'The `status.conditions` of every policy. `kubectl describe taintpolicy POLICY` shows them. The message of a condition names the objects that it ' +
      'is about. `taintkeeper doctor`, `taintkeeper explain` and the page use the same table.\n',
    ...Object.entries(CONDITIONS).flatMap(([type, { meaning, present, healthy, reasons }]) => {
      const other = healthy === 'True' ? 'False' : 'True';
      const unhealthy = `If it is \`${other}\`, ${LEVELS[assessCondition({ type, status: other, reason: '' }).level]}.`;
      const all = Object.entries<Reason>(reasons);
      const own = all.filter(([, reason]) => !Object.values<Reason>(NATIVE_REASONS).includes(reason));
      return [
        `## ${type}\n`,
        `${meaning} The status has this condition ${present}. ${unhealthy}\n`,
        ...(own.length < all.length ? [`For the other reasons of \`False\`, see ${NATIVE_LINK}.\n`] : []),
        ...HEAD,
        ...own.map(([name, reason]) => row(reason.healthy ? healthy : other, name, reason)),
        '',
      ];
    }),
    `## ${NATIVE_TITLE}\n`,
    '`Ready` of a TolerationRestriction has these reasons, and `Backstop`:\n',
    ...HEAD,
    ...Object.entries(NATIVE_REASONS).map(([name, reason]) => row('False', name, reason)),
    '',
  ].join('\n');
}

function row(status: string, name: string, { meaning, next = 'nothing' }: Reason): string {
  return `| ${status} | \`${name}\` | ${meaning} | ${next} |`;
}
