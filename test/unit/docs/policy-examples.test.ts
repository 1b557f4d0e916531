import { join } from 'node:path';
import { expect, it } from 'vitest';
import { parsePolicies, readPolicyFiles } from '../../../src/files/policy-files.ts';
import { nodeDrift } from '../../../src/judge/node-drift.ts';
import type { CompiledTaintPolicy } from '../../../src/policy/compiled-taint-policy.ts';
import type { Policy } from '../../../src/policy/policy.ts';
import { compilePolicies, type PolicySet } from '../../../src/policy/policy-set.ts';
import { failurePolicyOf } from '../../../src/policy/taint-policy.ts';
import { missingTaintsOf, nodeOf } from '../judge/node-drifts.ts';
import { ROOT } from './pages.ts';

/** @param path below examples/ */
async function policiesOf(path: string): Promise<Policy[]> {
  return parsePolicies(await readPolicyFiles([join(ROOT, 'examples', path)]));
}

async function example(path: string): Promise<PolicySet> {
  return compilePolicies(await policiesOf(path));
}

it('a node that runs does not get the evicting taint, and is reported', async () => {
  const { taintPolicies } = await example('evicting/policy.yaml');
  const node = nodeOf([], { labels: { quarantine: 'true' } });
  const drift = nodeDrift(node, taintPolicies);
  expect(drift.taints).toEqual([]);
  expect(missingTaintsOf(drift)).toEqual(['quarantine quarantine:NoExecute (WouldEvictPods)']);
});

it('the GPU pool: nodes that run get the taint from the leader', async () => {
  const { taintPolicies } = await example('policies/gpu-pool.yaml');
  const [policy] = taintPolicies as [CompiledTaintPolicy];
  const drift = nodeDrift(nodeOf([], { labels: { pool: 'gpu' } }), [policy]);
  expect(missingTaintsOf(drift)).toHaveLength(1);
  expect(drift.taints).toHaveLength(1);
});

it('storage: while taintkeeper is unavailable, the update passes', async () => {
  const [policy] = await policiesOf('storage/policy.yaml');
  expect(policy?.kind === 'TaintPolicy' && failurePolicyOf(policy.spec, 'Deny')).toBe('Ignore');
});

it("recovery: the network's daemons, in its own namespace as well", async () => {
  const { recoveryPolicies } = await example('recovery/policy.yaml');
  const [policy] = recoveryPolicies;
  expect(policy?.selectsDaemonSet({ namespace: 'kube-flannel', name: 'kube-flannel-ds', labels: {} })).toBe(true);
  expect(policy?.selectsDaemonSet({ namespace: 'default', name: 'kube-flannel-ds', labels: {} })).toBe(false);
});
