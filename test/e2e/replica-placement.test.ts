import { readFileSync } from 'node:fs';
import { beforeAll, expect, it } from 'vitest';
import { INSTALL, NAMESPACE } from '../../scripts/chart.ts';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { WITH_KUBELET } from '../control-plane/kubelets/with-kubelet.ts';
import { admin } from '../control-plane/users.ts';
import { objectsOf } from './kubernetes-objects.ts';
import { attempt } from './nodes.ts';

const ZONE = 'topology.kubernetes.io/zone';
/** What the Deployment needs. The replicas are stand-ins, so nobody but the scheduler decides where they run. */
const KINDS = ['Namespace', 'ServiceAccount', 'Deployment'];
/** The scheduler takes one of several equal nodes by chance. */
const ROLLOUTS = 5;

interface Pod {
  readonly metadata: { readonly deletionTimestamp?: string };
  readonly spec: { readonly nodeName?: string };
}

describeWithControlPlane(
  'where the scheduler puts the replicas',
  { components: ['kube-controller-manager', 'kube-scheduler', 'kubelets'], nodeMonitorGraceSeconds: 600 },
  (cp) => {
    const kubectl = async (args: readonly string[], input?: string) => {
      const { code, stdout, stderr } = await cp().kubectl(args, input === undefined ? {} : { input });
      expect({ code, stderr: code === 0 ? '' : stderr }).toEqual({ code: 0, stderr: '' });
      return stdout;
    };
    const manifest = objectsOf(readFileSync(INSTALL, 'utf8')).filter(({ kind }) => KINDS.includes(kind));

    async function useNodes(zones: Readonly<Record<string, string>>): Promise<void> {
      await kubectl(['delete', 'nodes', '--all']);
      for (const [name, zone] of Object.entries(zones)) {
        const labels = { 'kubernetes.io/hostname': name, 'kubernetes.io/os': 'linux', ...(zone && { [ZONE]: zone }) };
        const metadata = { name, labels, annotations: WITH_KUBELET };
        expect((await attempt(cp(), admin, 'POST', '/api/v1/nodes', { metadata })).error).toBe('');
      }
      await kubectl(['wait', '--for=condition=Ready', 'nodes', '--all', '--timeout=30s']);
    }

    async function nodesOfReplicas(): Promise<string[]> {
      const { items } = JSON.parse(await kubectl(['get', 'pods', '-n', NAMESPACE, '-o', 'json'])) as { items: Pod[] };
      return items.filter(({ metadata }) => !metadata.deletionTimestamp).map(({ spec }) => spec.nodeName ?? '');
    }

    beforeAll(() => kubectl(['apply', '-f', '-'], JSON.stringify({ apiVersion: 'v1', kind: 'List', items: manifest })));

    it.each([
      { what: 'on two nodes without zones', zones: { n1: '', n2: '' } },
      { what: 'on three nodes without zones', zones: { n1: '', n2: '', n3: '' } },
      { what: 'on two nodes of one zone', zones: { n1: 'a', n2: 'a' } },
      { what: 'on two nodes, one of which has a zone', zones: { n1: 'a', n2: '' } },
      { what: 'on nodes of two zones', zones: { n1: 'a', n2: 'a', n3: 'b', n4: 'b' } },
    ])(
      'one on each node, in each zone, after every rollout, $what',
      async ({ zones }: { zones: Record<string, string> }) => {
        await useNodes(zones);
        const found: unknown[] = [];
        for (let i = 0; i < ROLLOUTS; i++) {
          const template = { metadata: { annotations: { rollout: `${Object.keys(zones)} ${i}` } } };
          const change = JSON.stringify({ spec: { template } });
          await kubectl(['patch', 'deployment', 'taintkeeper', '-n', NAMESPACE, '-p', change]);
          await kubectl(['rollout', 'status', 'deployment/taintkeeper', '-n', NAMESPACE, '--timeout=60s']);
          const nodes = await nodesOfReplicas();
          found.push({ nodes: new Set(nodes).size, zones: new Set(nodes.map((node) => zones[node])).size });
        }
        const expected = { nodes: 2, zones: Math.min(2, new Set(Object.values(zones)).size) };
        expect(found).toEqual(Array.from({ length: ROLLOUTS }, () => expected));
      },
      120_000,
    );
  },
);
