import { beforeAll, describe, expect, it } from 'vitest';
import { simulateAdmission } from '../../src/admission/simulate-admission.ts';
import { compilePolicies } from '../../src/policy/policy-set.ts';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { daemonSetRequest, tolerationPolicies } from '../unit/cel-rules/case-requests.ts';
import { tolerationsOf, withoutEmpty } from '../unit/cel-rules/objects.ts';
import { SENT_DAEMON_SET_CASES } from '../unit/judge/request/daemon-set-cases.ts';
import { make, prepare } from './dry-run-requests.ts';
import { check, enforce } from './native-daemon-sets.ts';
import { createNativeRig, MUTATING_VERSION, type NativeRig, obstacleToMutation } from './native-rig.ts';

const groups = [...Map.groupBy(SENT_DAEMON_SET_CASES, ({ policies }) => JSON.stringify(policies)).values()];

describeWithControlPlane(
  'native policies for DaemonSets',
  { mutatingPolicies: true, obstacle: obstacleToMutation },
  (cp) => {
    let native: NativeRig;
    beforeAll(() => {
      native = createNativeRig(cp(), { sparesAdmin: true, mutatingVersion: MUTATING_VERSION });
    });

    describe.each(groups.map((alike) => ({ alike, first: alike[0]?.why })))('$first, and others', ({ alike }) => {
      const policies = tolerationPolicies(alike[0]?.policies ?? {});
      const compiled = compilePolicies(policies);
      beforeAll(async () => {
        await enforce(native, policies);
      });

      it.each(alike)('decide as the webhook does: $why', async ({ added, ...one }) => {
        const { daemonSets, request } = daemonSetRequest(one);
        await prepare(cp(), [], daemonSets);
        const made = await make(cp(), request, []);
        if (!made) throw new Error('the API server does not take the DaemonSet');
        check(made, simulateAdmission(made.request, compiled));
        expect(tolerationsOf(made.answer.body)).toEqual([...one.daemonSet.tolerations, ...added].map(withoutEmpty));
      });
    });
  },
);
