import { expect, it } from 'vitest';
import type { AdmissionRequest } from '../../../src/admission/admission-review.ts';
import { judgeRequest } from '../../../src/admission/judge-request.ts';
import { objectToCreate } from '../../../src/admission/request-object.ts';
import { deny } from '../../../src/judge/decision.ts';
import { policySet } from '../policy/policies.ts';
import { daemonSetRequest, nodeRequest } from './requests.ts';

const GPU = { key: 'dedicated', value: 'gpu', effect: 'NoSchedule' };
const ADDS_TAINT = policySet({
  taint: { p: { mode: 'Restore', taints: [{ ...GPU, effect: 'NoSchedule', ensure: 'Always' }] } },
});
const node = (taints: object[]) => ({ metadata: { name: 'n1' }, spec: { taints } });
const daemonSet = (metadata: object) => ({ metadata, spec: { template: { spec: {} } } });
const creation = nodeRequest({ object: node([]) });
const generated = daemonSetRequest({ object: daemonSet({ generateName: 'cni-' }) });

it.each<[why: string, request: AdmissionRequest, expected: object | undefined]>([
  ['a node', creation, { apiVersion: 'v1', kind: 'Node', name: 'n1' }],
  [
    'a DaemonSet',
    daemonSetRequest({ object: daemonSet({ name: 'cni' }) }),
    { apiVersion: 'apps/v1', kind: 'DaemonSet', namespace: 'kube-system', name: 'cni' },
  ],
  ['none for an update', nodeRequest({ object: node([]), oldObject: node([GPU]) }), undefined],
  ['none for a dry run', { ...creation, dryRun: true }, undefined],
  ['none without a name: no object can have the generated one', { ...generated, name: '' }, undefined],
])('the object that a request creates: %s', (_why, request, expected) => {
  expect(objectToCreate(request, judgeRequest(request, 'mutate', ADDS_TAINT))).toEqual(expected);
});

it('the object that a request creates: none for a refused request', () => {
  const refused = { kind: 'Node', decision: deny('no', []) } as const;
  expect(objectToCreate(creation, refused)).toBeUndefined();
});
