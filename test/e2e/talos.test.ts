import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { taintkeeperAccount } from '../control-plane/replicas.ts';
import { admin, node } from '../control-plane/users.ts';
import { waitUntil } from '../control-plane/wait-until.ts';
import { patchNode, waitForTaints } from './drift.ts';
import { guideLines } from './guide-commands.ts';
import { type Installation, install } from './installation.ts';
import { attempt, GPU, getNode, type Node, path, type Taint } from './nodes.ts';
import { runInShell } from './paste-remedy.ts';
import { runAs } from './run-taintkeeper.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const FILES = ['controlplane.yaml', 'worker.yaml', 'gpu.yaml'].map((name) => join(ROOT, 'examples', 'talos', name));
const NODES = join(ROOT, 'examples', 'talos', 'nodes.yaml');
const GUIDE = readFileSync(join(ROOT, 'docs', 'talos.md'), 'utf8');
const REGISTERED_TIMEOUT_MS = 30_000;

describeWithControlPlane('taintkeeper talos', {}, (cp) => {
  const talos = (...args: string[]) => runAs(admin, cp(), ['talos', ...args]);

  describe('drift', () => {
    beforeAll(async () => {
      const { code, stderr } = await cp().kubectl(['create', '-f', NODES]);
      expect(code, stderr).toBe(0);
    });

    it('finds in a cluster what it finds in a file of the same nodes, and its commands fix it', async () => {
      const fromCluster = await talos('drift', ...FILES);
      expect(fromCluster.code, fromCluster.stderr).toBe(1);
      const offline = await talos('drift', ...FILES, '--nodes', NODES);
      expect(lines(fromCluster.stdout)).toEqual(lines(offline.stdout));
      expect(fromCluster.stdout).toMatch(/orphaned.*missing.*different/s);

      for (const [, command = ''] of fromCluster.stdout.matchAll(/^ {2}kubectl (.*)$/gm)) {
        const { code, stderr } = await cp().kubectl(command.split(' '));
        expect(code, stderr).toBe(0);
      }
      expect(await talos('drift', ...FILES)).toMatchObject({
        code: 0,
        stdout: expect.stringMatching(/^4 nodes compared, 4 as declared$/m),
      });
    });
  });

  describe('policies', () => {
    let installation: Installation;

    /** A node as its kubelet registers it. */
    const register = (name: string, labels: Record<string, string>, query = '') =>
      cp().request<Node>(node(name), 'POST', `/api/v1/nodes${query}`, { body: { metadata: { name, labels } } });

    /** What Talos does on a worker: the whole node with labels, taints and what it owns, as the kubelet. */
    async function applyAsTalos(name: string, labels: Record<string, string>, taints: readonly Taint[]) {
      const { metadata, ...rest } = await getNode(cp(), name);
      const others = (rest.spec.taints ?? []).filter(({ key }) => !taints.some((taint) => taint.key === key));
      const annotations = {
        ...metadata.annotations,
        'talos.dev/owned-taints': JSON.stringify(taints.map(({ key }) => key)),
      };
      return attempt(cp(), node(name), 'PUT', path(name), {
        ...rest,
        metadata: { ...metadata, labels: { ...metadata.labels, ...labels }, annotations },
        spec: { ...rest.spec, taints: [...others, ...taints] },
      });
    }

    beforeAll(async () => {
      installation = await install(cp());
      await installation.start(['a']);
      const { code, stdout, stderr } = await talos('policies', ...FILES);
      expect(code, stderr).toBe(0);
      const applied = await cp().kubectl(['apply', '-f', '-'], { input: stdout });
      expect(applied.stderr + applied.stdout).toBe(
        'taintpolicy.taintkeeper.dev/talos-control-planes created\ntaintpolicy.taintkeeper.dev/talos-pool-gpu created\n',
      );
      await waitUntil(
        async () => {
          const { body } = await register('gpu-0', { pool: 'gpu' }, '?dryRun=All');
          return body.spec.taints?.some(({ key }) => key === GPU.key) || undefined;
        },
        {
          timeoutMs: REGISTERED_TIMEOUT_MS,
          otherwise: () => 'a node of the pool would still register without its taint',
        },
      );
    });
    afterAll(() => installation?.stop());

    it('give a worker its taint when it registers with the label', async () => {
      expect((await register('gpu-11', { pool: 'gpu' })).status).toBe(201);
      await waitForTaints(cp(), 'gpu-11', 'dedicated=gpu:NoSchedule');
      expect((await register('worker-11', {})).status).toBe(201);
      await waitForTaints(cp(), 'worker-11');
    });

    it('give a worker its taint when Talos labels it later', async () => {
      await register('gpu-12', {});
      expect(await applyAsTalos('gpu-12', { pool: 'gpu' }, [])).toMatchObject({ passed: true, error: '' });
      await waitForTaints(cp(), 'gpu-12', 'dedicated=gpu:NoSchedule');
    });

    it('cannot help where Talos has taints to set: the labels are refused with them, as the guide says', async () => {
      await register('gpu-3', {});
      const { passed, error } = await applyAsTalos('gpu-3', { pool: 'gpu' }, [GPU]);
      expect(passed).toBe(false);
      expect(GUIDE).toContain(`\n${error}\n`);
      expect((await getNode(cp(), 'gpu-3')).metadata.labels?.pool).toBeUndefined();
    });

    it('let Talos have its way once the taint is there', async () => {
      await register('gpu-14', {});
      expect(await patchNode(cp(), admin, 'gpu-14', { metadata: { labels: { pool: 'gpu' } } })).toMatchObject({
        passed: true,
      });
      await waitForTaints(cp(), 'gpu-14', 'dedicated=gpu:NoSchedule');
      expect(await applyAsTalos('gpu-14', { 'example.com/more': 'yes' }, [GPU])).toMatchObject({
        passed: true,
        error: '',
      });
      const { metadata } = await getNode(cp(), 'gpu-14');
      expect(metadata.annotations?.['talos.dev/owned-taints']).toBe('["dedicated"]');
    });

    it('a node is repaired now, by the commands of docs/talos.md with the rights of a replica', async () => {
      const name = 'gpu-now';
      expect(await attempt(cp(), node(name), 'POST', '/api/v1/nodes', { metadata: { name } })).toMatchObject({
        passed: true,
      });
      const file = FILES[2] ?? '';
      const [taint = '', label = '', drift = '', ...others] = guideLines('talos.md', 'Repair a node now');
      // Not in the same paste: it concerns more nodes than NODE.
      const [policies = '', ...more] = guideLines('talos.md', 'Repair a node now', 1);
      expect([...others, ...more]).toEqual([]);
      const values = { NODE: name, FILE: file, 'KEY=VALUE:EFFECT': 'dedicated=gpu:NoSchedule' };
      const inShell = (command: string, given: Readonly<Record<string, string>> = values) =>
        runInShell(
          cp(),
          Object.entries(given).reduce((text, [word, value]) => text.replaceAll(word, value), command),
          { folder: ROOT, taintkeeperAs: taintkeeperAccount },
        );
      expect(await inShell(drift)).toMatchObject({
        code: 1,
        stdout: expect.stringContaining(`kubectl taint node ${name} `),
      });
      expect(await inShell(taint)).toMatchObject({ code: 0 });
      for (const declared of ['pool=gpu', 'topology.kubernetes.io/zone=rack-7']) {
        expect(await inShell(label, { ...values, 'LABEL=VALUE': declared })).toMatchObject({ code: 0 });
      }
      expect((await inShell(drift)).stdout).not.toMatch(new RegExp(`^${name} `, 'm'));
      const applied = await inShell(policies);
      expect(applied.stdout, applied.stderr).toMatch(
        /^taintpolicy\.taintkeeper\.dev\/talos-pool-gpu (?:configured|unchanged)$/m,
      );
      await cp().kubectl(['delete', 'node', name]);
    });

    it('are what the nodes have, in the end', async () => {
      const { stdout } = await talos('drift', ...FILES, '-o', 'json', '-l', 'pool=gpu');
      const found: { name: string; findings: { kind: string }[] }[] = JSON.parse(stdout).nodes;
      expect(found.map(({ name }) => name)).toEqual(['gpu-1', 'gpu-11', 'gpu-12', 'gpu-14', 'gpu-2']);
      expect(found.flatMap(({ findings }) => findings.filter(({ kind }) => kind === 'taint'))).toEqual([]);
    });
  });
});

/** The API server lists nodes by name. */
function lines(text: string): string[] {
  return text.split('\n').sort();
}
