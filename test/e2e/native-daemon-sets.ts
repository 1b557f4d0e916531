import { isDeepStrictEqual } from 'node:util';
import { expect } from 'vitest';
import type { Admission } from '../../src/admission/simulate-admission.ts';
import { translate } from '../../src/native/translate.ts';
import type { Policy } from '../../src/policy/policy.ts';
import { atMost } from '../../src/text/counts.ts';
import { inCase } from '../in-case.ts';
import { tolerationsOf } from '../unit/cel-rules/objects.ts';
import type { Made } from './dry-run-requests.ts';
import type { NativeRig } from './native-rig.ts';

/** Puts the policies in force. Gives how many tolerations a DaemonSet may have for the API server to evaluate them. */
export async function enforce(rig: NativeRig, policies: readonly Policy[]): Promise<number> {
  const translations = policies.flatMap((policy) =>
    policy.kind === 'RecoveryPolicy' ? [] : [translate(policy, { among: policies, mutates: true, purpose: 'Alone' })],
  );
  expect(translations.flatMap(({ refusal }) => refusal ?? [])).toEqual([]);
  await rig.enforce(translations.flatMap((translation) => translation.policies));
  const limits = translations.flatMap((translation) => translation.limits);
  const sizes = limits.map(({ message }) => Number(/with more than (\d+) tolerations$/.exec(message)?.[1]));
  return Math.min(256, ...sizes);
}

/** Compares what the API server did with what the engine says. */
export function check({ request, answer }: Pick<Made, 'request' | 'answer'>, admission: Admission): void {
  inCase(
    () => ({ request, answer, admission }),
    () => {
      expect(answer.status).toBeLessThan(300);
      const expectedTolerations = tolerationsOf(admission.object);
      const got = tolerationsOf(answer.body);
      if (!isDeepStrictEqual(got, expectedTolerations)) expect(got).toEqual(expectedTolerations);
      expect(answer.warnings.toSorted()).toEqual(warningsOf(admission).toSorted());
    },
  );
}

/** What the API server says in place of the webhook: one warning for each policy. */
function warningsOf({ violations }: Admission): string[] {
  const left = violations.filter(({ result }) => result !== 'Added');
  return [...Map.groupBy(left, ({ policy }) => policy)].map(([policy, found]) => {
    const name = `${policy}.report-tolerations.taintkeeper.dev`;
    const [mode, then] =
      found[0]?.mode === 'Audit' ? [', Audit', ''] : ['', '; added with the next change of the pod template'];
    const subjects = found.map(({ subject }) => subject);
    // An addition does not repair what ends too early.
    const end = subjects.some((subject) => / without tolerationSeconds$| for -?\d+ s$/.test(subject)) ? '' : then;
    return `Validation failed for ValidatingAdmissionPolicy '${name}' with binding '${name}': TolerationPolicy ${policy}${mode}: missing tolerations: ${atMost(8, subjects).join(', ')}${end}`;
  });
}
