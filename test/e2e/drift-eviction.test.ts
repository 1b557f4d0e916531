import { afterAll, beforeAll, expect, it } from 'vitest';
import type { PolicyStatus } from '../../src/policy/reporting/policy-status.ts';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { WITH_KUBELET } from '../control-plane/kubelets/with-kubelet.ts';
import { admin } from '../control-plane/users.ts';
import { waitUntil } from '../control-plane/wait-until.ts';
import { createTaintPolicy, patchNode, waitForEvent, waitForStatus } from './drift.ts';
import { type Installation, install } from './installation.ts';
import { attempt, taintsOf } from './nodes.ts';
import { runAs } from './run-taintkeeper.ts';

const OUT = { key: 'example.com/out', effect: 'NoExecute' };
const OUT_TEXT = 'example.com/out:NoExecute';
const PODS = '/api/v1/namespaces/default/pods';

describeWithControlPlane(
  'a declared taint that evicts pods',
  { components: ['kube-controller-manager', 'kubelets'] },
  (cp) => {
    let installation: Installation;

    beforeAll(async () => {
      installation = await install(cp());
      await createNode('running', []);
      await createPod('running');
      await installation.start(['a']);
      await createTaintPolicy(cp(), 'out', { taints: [{ ...OUT, ensure: 'Always' }] });
    });
    afterAll(() => installation?.stop());

    /** One with a kubelet. */
    async function createNode(name: string, taints: readonly object[]) {
      const metadata = { name, labels: { pool: 'out' }, annotations: WITH_KUBELET };
      const body = { metadata, spec: { taints } };
      expect((await attempt(cp(), admin, 'POST', '/api/v1/nodes', body)).error).toBe('');
    }

    const stalledOf = ({ conditions = [] }: PolicyStatus) =>
      conditions.find(({ type, reason }) => type === 'Stalled' && reason === 'WouldEvictPods')?.message;

    const phaseOf = async (name: string) =>
      (await cp().request<{ status: { phase?: string } }>(admin, 'GET', `${PODS}/${name}`)).body.status.phase;

    /** A pod named as its node, which tolerates nothing. */
    async function createPod(node: string) {
      const body = { metadata: { name: node }, spec: { nodeName: node, containers: [{ name: 'c', image: 'c' }] } };
      expect((await attempt(cp(), admin, 'POST', PODS, body)).error).toBe('');
      await waitUntil(async () => (await phaseOf(node)) === 'Running' || undefined, {
        timeoutMs: 20_000,
        otherwise: () => `pod ${node} does not run`,
      });
    }

    const waitUntilEvicted = (pod: string) =>
      waitUntil(async () => (await cp().request(admin, 'GET', `${PODS}/${pod}`)).status === 404 || undefined, {
        timeoutMs: 20_000,
        otherwise: () => `pod ${pod} is still there`,
      });

    it('is not added to a node that never carried it, and that is said', async () => {
      const { note } = await waitForEvent(cp(), 'running', 'TaintMissing');
      expect(note).toBe(
        `TaintPolicy out reports missing taint ${OUT_TEXT}: it would evict pods, so a node gets it only when it registers`,
      );
      const { violators } = await waitForStatus(cp(), 'out', ({ violating }) => violating === 1);
      expect(violators).toEqual(['running']);
      expect(await taintsOf(cp(), 'running')).toEqual([]);
      expect(await phaseOf('running')).toBe('Running');
    });

    it('does not come back where it was lost while no leader watched', async () => {
      await createNode('tainted', [OUT]);
      await waitForStatus(cp(), 'out', ({ matched }) => matched === 2);
      await installation.replica('a').stop();
      installation.replicas.delete('a');
      expect((await patchNode(cp(), admin, 'tainted', { spec: { taints: null } })).error).toBe('');
      await createPod('tainted');
      await installation.start(['b']);
      await waitForEvent(cp(), 'tainted', 'TaintMissing');
      await waitForStatus(cp(), 'out', ({ violating }) => violating === 2);
      for (const name of ['running', 'tainted']) {
        expect(await taintsOf(cp(), name)).toEqual([]);
        expect(await phaseOf(name)).toBe('Running');
      }
    });

    it('is reported by the policy with the command that adds it, which evicts', async () => {
      const status = await waitForStatus(cp(), 'out', (one) => stalledOf(one)?.includes('node tainted') === true);
      const [, command = ''] = /(kubectl taint node running [^\s;]+)/.exec(stalledOf(status) ?? '') ?? [];
      expect(command).toBe(`kubectl taint node running ${OUT_TEXT}`);
      const { stdout } = await runAs(admin, cp(), ['explain', 'node', 'running']);
      expect(stdout).toContain(`next: ${command}`);
      const { code, stderr } = await cp().kubectl(command.split(' ').slice(1));
      expect(code, stderr).toBe(0);
      await waitUntilEvicted('running');
      await waitForStatus(cp(), 'out', (one) => one.violating === 1 && !stalledOf(one)?.includes('node running'));
    });
  },
);
