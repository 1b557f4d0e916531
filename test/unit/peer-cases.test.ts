import { describe, expect, it } from 'vitest';
import { neededAuthorizations } from '../../src/judge/request/pod-authorization.ts';
import type { Taint } from '../../src/kubernetes/taint.ts';
import type { Toleration } from '../../src/kubernetes/toleration.ts';
import type { Requester } from '../../src/policy/compiled-taint-policy.ts';
import type { TaintPolicySpec } from '../../src/policy/taint-policy.ts';
import type { TolerationRestrictionSpec } from '../../src/policy/toleration-restriction.ts';
import { admitted, KUBELET } from './judge/request/node-updates.ts';
import { policySet } from './policy/policies.ts';

/*
 * What the authors of other admission controllers expect: the inputs and outcomes of their tests, judged by the policy of ours that
 * claims the same. Tolerations of pods are judged by the model that `explain pod` and `review` use. test/e2e/native-pods.property.test.ts compares
 * that model with the API server.
 */

const taint = (key: string, value: string, effect = 'NoSchedule'): Taint => ({ key, value, effect });

describe('updates of nodes', () => {
  /** kyverno/policies, other/protect-node-taints: nobody but a cluster-admin alters taints. Ours protects them, and lets every user add one. */
  const kyverno: TaintPolicySpec = {
    mode: 'Deny',
    taints: [{ key: 'foo' }],
    exempt: { groups: ['system:masters'] },
  };
  const nodeTaintUser: Requester = { username: 'nodetaintuser', groups: ['testorg', 'system:authenticated'] };
  const clusterAdmin: Requester = { username: 'kubernetes-admin', groups: ['system:masters'] };
  const scheduling = taint('foo', 'bar');
  const executing = taint('foo', 'bar', 'NoExecute');
  /** kubernetes/kubernetes, plugin/pkg/admission/noderestriction: a kubelet does not modify taints. */
  const nodeRestriction: TaintPolicySpec = {
    mode: 'Deny',
    taints: [{ key: 'mykey' }],
  };
  const [A, B] = [taint('mykey', 'A'), taint('mykey', 'B')];

  it.each<{ test: string; spec: TaintPolicySpec; by: Requester; before: Taint[]; after: Taint[]; denied: boolean }>([
    {
      test: 'Kyverno: a user removes a taint',
      ...{ spec: kyverno, by: nodeTaintUser, before: [scheduling, executing], after: [scheduling], denied: true },
    },
    {
      test: 'Kyverno: a cluster-admin adds a taint',
      ...{ spec: kyverno, by: clusterAdmin, before: [scheduling], after: [scheduling, executing], denied: false },
    },
    {
      test: 'Kyverno: a cluster-admin removes both taints',
      ...{ spec: kyverno, by: clusterAdmin, before: [scheduling, executing], after: [], denied: false },
    },
    {
      test: 'NodeRestriction: no change to taints',
      ...{ spec: nodeRestriction, by: KUBELET, before: [A], after: [A], denied: false },
    },
    {
      test: 'NodeRestriction: remove taints',
      ...{ spec: nodeRestriction, by: KUBELET, before: [A], after: [], denied: true },
    },
    {
      test: 'NodeRestriction: change taints',
      ...{ spec: nodeRestriction, by: KUBELET, before: [B], after: [A], denied: true },
    },
  ])('$test', ({ spec, by, before, after, denied }) => {
    const { action } = admitted(policySet({ taint: { p: spec } }), { before, after, requester: by });
    expect(action === 'deny').toBe(denied);
  });
});

describe('pods that tolerate', () => {
  const CONTROL_PLANE = 'node-role.kubernetes.io/control-plane';
  const MASTER = 'node-role.kubernetes.io/master';
  /** kyverno/policies, other/restrict-controlplane-scheduling. */
  const kyverno: TolerationRestrictionSpec = { mode: 'Deny', taints: [{ key: CONTROL_PLANE }, { key: MASTER }] };
  /** Azure/ARO-RP, gktemplates-src/aro-deny-master-toleration-taints, for Gatekeeper. */
  const aro: TolerationRestrictionSpec = { ...kyverno, exceptNamespaces: ['openshift-*'] };
  /** chimera-kube/pod-toleration-policy, which became one of Kubewarden's. */
  const chimera: TolerationRestrictionSpec = { mode: 'Deny', taints: [{ key: 'dedicated', value: 'tenantA' }] };
  const ofTenantA: Toleration = { key: 'dedicated', operator: 'Equal', value: 'tenantA', effect: 'NoSchedule' };
  const existing = (key: string, effect = 'NoSchedule'): Toleration => ({ key, operator: 'Exists', effect });
  const bare = (key: string): Toleration => ({ key, effect: 'NoExecute' });

  it.each<{
    test: string;
    spec: TolerationRestrictionSpec;
    namespace?: string;
    tolerations: Toleration[];
    /** For a user without the right to tolerate the taint. */
    denied: boolean;
  }>([
    {
      test: 'Kyverno: badpod01',
      ...{ spec: kyverno, tolerations: [existing('foo-bar'), existing(CONTROL_PLANE)], denied: true },
    },
    {
      test: 'Kyverno: badpod02',
      spec: kyverno,
      tolerations: [existing(MASTER), { key: 'foo', operator: 'Equal', value: 'bar', effect: 'NoExecute' }],
      denied: true,
    },
    { test: 'Kyverno: goodpod01', ...{ spec: kyverno, tolerations: [existing('foo-bar')], denied: false } },
    {
      test: 'Kyverno: goodpod02',
      spec: kyverno,
      tolerations: [
        existing('foo-bar'),
        { key: 'node-role.kubernetes.io/foo-bar', operator: 'Equal', value: 'bar', effect: 'NoExecute' },
      ],
      denied: false,
    },
    {
      test: 'ARO: in a privileged namespace',
      spec: aro,
      namespace: 'openshift-config',
      ...{ tolerations: [bare('node-role.kubernetes.io/worker'), bare(MASTER)], denied: false },
    },
    {
      test: 'ARO: another taint in another namespace',
      ...{ spec: aro, namespace: 'customer', tolerations: [bare('node-role.kubernetes.io/worker')], denied: false },
    },
    {
      test: 'ARO: the taint of masters in another namespace',
      spec: aro,
      namespace: 'customer',
      ...{ tolerations: [bare('node-role.kubernetes.io/worker'), bare(MASTER)], denied: true },
    },
    {
      test: 'Chimera: a taint that the policy does not track',
      spec: { mode: 'Deny', taints: [{ key: 'another-key', value: 'another-value' }] },
      ...{ tolerations: [ofTenantA], denied: false },
    },
    { test: 'Chimera: no tolerations', ...{ spec: chimera, tolerations: [], denied: false } },
    { test: 'Chimera: another user', ...{ spec: chimera, tolerations: [ofTenantA], denied: true } },
    { test: 'Chimera: Exists', ...{ spec: chimera, tolerations: [existing('dedicated')], denied: true } },
  ])('$test', ({ spec, namespace = 'default', tolerations, denied }) => {
    const { tolerationRestrictions } = policySet({ restriction: { p: spec } });
    const asked = neededAuthorizations(
      { namespace, serviceAccount: '', nodeName: '', tolerations },
      tolerationRestrictions,
    );
    expect(asked.length > 0).toBe(denied);
  });
});
