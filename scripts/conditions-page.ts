import { assessCondition, CONDITIONS, type ConditionLevel, type Reason } from '../src/policy/status-conditions.ts';

const LEVELS: Readonly<Record<ConditionLevel, string>> = {
  failed: 'the policy is not in force, or an earlier version of it is. See the reason',
  problem: 'something that the policy declares is not done',
  attention: '`taintkeeper doctor` prints a note',
  quiet: 'nothing is to be done because of this condition alone',
};

/** The reference page of the conditions of policies, from their table. */
export function conditionsPage(): string {
  return [
    '# Conditions of policies\n',
    'The `status.conditions` of every policy. `kubectl describe taintpolicy POLICY` shows them. The message of a condition names the objects that it ' +
      'is about. `taintkeeper doctor`, `taintkeeper explain` and the page use the same table.\n',
    ...Object.entries(CONDITIONS).flatMap(([type, { meaning, present, healthy, reasons }]) => {
      const other = healthy === 'True' ? 'False' : 'True';
      return [
        `## ${type}\n`,
        `${meaning} The status has this condition ${present}. If it is \`${other}\`, ${LEVELS[assessCondition({ type, status: other, reason: '' }).level]}.\n`,
        '| status | reason | meaning | what to do |',
        '| --- | --- | --- | --- |',
        ...Object.entries<Reason>(reasons).map(
          ([reason, entry]) =>
            `| ${entry.healthy ? healthy : other} | \`${reason}\` | ${entry.meaning} | ${entry.next ?? 'nothing'} |`,
        ),
        '',
      ];
    }),
  ].join('\n');
}
