import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CHART, IMAGE, INSTALL, NAMESPACE, RIGHTS } from '../../scripts/chart.ts';
import { MERGE_PATCH } from '../control-plane/content-types.ts';
import type { ControlPlane } from '../control-plane/control-plane.ts';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { runHelm } from '../control-plane/helm.ts';
import {
  checkOutPreviousRelease,
  obstacleToPreviousRelease,
  type PreviousRelease,
} from '../control-plane/previous-release.ts';
import { PROGRAM } from '../control-plane/program.ts';
import { admin, node } from '../control-plane/users.ts';
import { createWorkspace } from '../control-plane/workspace.ts';
import { skipFor } from '../skip-for.ts';
import { type AdmissionStream, startAdmissionStream } from './admission-stream.ts';
import { waitForTaints } from './drift.ts';
import { guideCommands } from './guide-commands.ts';
import {
  type Installation,
  readCertificates,
  registerControlPlaneNode,
  runInstalled,
  waitUntilProtected,
} from './installation.ts';
import { attempt, GPU, OTHER, path, RELEASE, taintsOf } from './nodes.ts';
import { policyObject } from './policy-objects.ts';
import { createPolicy, POLICIES_PATH } from './policy-resources.ts';

const REQUIRED_TEXT = 'dedicated=gpu:NoSchedule';
const OTHER_TEXT = 'example.com/other:NoSchedule';
const TROUBLE = ['warn', 'error', 'fatal'];
const CHECKOUT_TIMEOUT_MS = 180_000;

const POLICIES = [
  policyObject('TaintPolicy', 'gpu', {
    mode: 'Restore',
    nodeSelector: { matchLabels: { pool: 'gpu' } },
    taints: [{ ...GPU, ensure: 'Always' }],
  }),
  policyObject('TaintPolicy', 'backed', {
    mode: 'Deny',
    nodeSelector: { matchLabels: { pool: 'backed' } },
    taints: [{ key: 'dedicated' }],
    backstop: 'Native',
  }),
  policyObject('TolerationPolicy', 'daemons', {
    mode: 'Mutate',
    daemonSets: { namespaces: ['kube-system'], names: ['*'] },
  }),
  policyObject('RecoveryPolicy', 'stuck', { daemonSets: { namespaces: ['kube-system'] } }),
];

/** How the objects of a release come to the cluster. */
interface Way {
  readonly install: (cp: ControlPlane, previous: PreviousRelease) => Promise<void>;
  readonly upgrade: (cp: ControlPlane) => Promise<void>;
  readonly goBack: (cp: ControlPlane, previous: PreviousRelease) => Promise<void>;
}

async function apply(cp: ControlPlane, files: readonly string[]): Promise<void> {
  const { code, stderr } = await cp.kubectl(['apply', ...files.flatMap((file) => ['-f', file])]);
  expect({ code, stderr }).toMatchObject({ code: 0 });
}

async function helm(cp: ControlPlane, args: readonly string[]): Promise<void> {
  expect(await runHelm(args, { kubeconfigFile: await cp.kubeconfigFile(admin) })).toMatchObject({ code: 0 });
}

/** The command of a section of the guide's, as it is written there. */
function guided(cp: ControlPlane, heading: string): Promise<void> {
  const command = guideCommands('upgrading.md', heading)[0]?.command ?? '';
  const [program, ...args] = command.replace('manifests/chart', CHART).split(' ');
  expect(program).toBe('helm');
  return helm(cp, args);
}

/** Those that the previous release has. */
const GRANTED = ['nativePolicies', 'patchDaemonSets', 'recoverPods', 'listPods'];

const WAYS: Readonly<Record<'kubectl' | 'helm', Way>> = {
  kubectl: {
    install: (cp, { manifests }) => apply(cp, manifests),
    upgrade: (cp) => apply(cp, [INSTALL, ...Object.values(RIGHTS)]),
    goBack: (cp, { manifests }) => apply(cp, manifests),
  },
  helm: {
    install: (cp, { chart }) =>
      helm(cp, [
        ...['install', 'taintkeeper', chart, '--namespace', NAMESPACE, '--create-namespace'],
        ...['--set', [`image.repository=${IMAGE}`, ...GRANTED.map((value) => `${value}=true`)].join(',')],
      ]),
    upgrade: (cp) => guided(cp, 'Upgrade with Helm'),
    goBack: (cp) => guided(cp, 'Roll back'),
  },
};

/** The promise of docs/upgrading.md: from the previous release to this one and back, under requests that only a replica can judge. */
describe.each(['kubectl', 'helm'] as const)('an upgrade by %s', skipFor(obstacleToPreviousRelease()), (name) => {
  const way = WAYS[name];
  describeWithControlPlane('from the previous release', { helm: name === 'helm' }, (cp) => {
    const workspace = createWorkspace(`previous-${name}`);
    let previous: PreviousRelease;
    let installation: Installation;
    let stream: AdmissionStream;
    let policiesBefore: unknown;

    beforeAll(async () => {
      previous = checkOutPreviousRelease(workspace);
      await way.install(cp(), previous);
      installation = await runInstalled(cp());
      await installation.start(['old-1', 'old-2'], { program: previous.program });
      for (const policy of POLICIES) expect(await createPolicy(cp(), policy)).toMatchObject({ status: 201 });
      await registerControlPlaneNode(cp(), 'cp-1');
      await waitUntilProtected(cp(), 'cp-1');
      for (const name of ['of-old', 'kept-off']) await register(name);
      await allowRemoval('kept-off');
      policiesBefore = await specs();
      stream = startAdmissionStream(cp(), 'cp-1');
    }, CHECKOUT_TIMEOUT_MS);
    afterAll(async () => {
      await stream?.stop();
      await installation?.stop();
      workspace.remove();
    });

    /** As a rollout does it (maxSurge 1, maxUnavailable 0). */
    async function replace(from: readonly string[], to: readonly string[], program: string): Promise<void> {
      for (const [index, name] of to.entries()) {
        await installation.start([name], { program });
        const gone = from[index] ?? '';
        await installation.proxy.waitForReady(...from.slice(index), ...to.slice(0, index + 1));
        installation.proxy.remove(gone);
        expect(await installation.replica(gone).stop()).toBe(0);
        quiet(gone);
        installation.replicas.delete(gone);
      }
    }

    /** Nothing that a release reads of what another one wrote is worth a warning: there are only those of decisions. */
    function quiet(name: string): void {
      const lines = installation.replica(name).logs();
      expect(
        lines.filter(({ level, outcome, result }) => TROUBLE.includes(String(level)) && !(outcome ?? result)),
      ).toEqual([]);
    }

    function noneFailed(): void {
      const { refused, passed, failed } = stream.take();
      expect({ passed, failed }).toEqual({ passed: 0, failed: [] });
      expect(refused).toBeGreaterThan(0);
    }

    /** A node of the pool, which gets the required taint. */
    async function register(name: string): Promise<void> {
      const body = { metadata: { name, labels: { pool: 'gpu' } }, spec: { taints: [OTHER] } };
      expect(await attempt(cp(), node(name), 'POST', '/api/v1/nodes', body)).toMatchObject({ error: '' });
      await waitForTaints(cp(), name, OTHER_TEXT, REQUIRED_TEXT);
    }

    /** An entry of the annotation keeps the required taint off. */
    async function allowRemoval(name: string): Promise<void> {
      for (const body of [{ metadata: { annotations: { [RELEASE]: REQUIRED_TEXT } } }, { spec: { taints: [OTHER] } }]) {
        expect(await attempt(cp(), admin, 'PATCH', path(name), body, MERGE_PATCH)).toMatchObject({ error: '' });
      }
    }

    /** Of all policies, what users wrote. */
    async function specs(): Promise<unknown> {
      const lists = await Promise.all(
        Object.values(POLICIES_PATH).map((url) =>
          cp().request<{ items: { metadata: { name: string }; spec: unknown }[] }>(admin, 'GET', url),
        ),
      );
      return lists.flatMap(({ body }) => body.items.map(({ metadata, spec }) => [metadata.name, spec]));
    }

    async function policiesInForce(): Promise<void> {
      const args = [
        'wait',
        '--for=condition=Ready',
        '--timeout=30s',
        '--all',
        'taintpolicies,tolerationpolicies,recoverypolicies',
      ];
      expect(await cp().kubectl(args)).toMatchObject({ code: 0, stderr: '' });
      expect(
        await cp().kubectl(['wait', '--for=condition=Backstop', '--timeout=30s', 'taintpolicy', 'backed']),
      ).toMatchObject({ code: 0 });
      expect(await specs()).toEqual(policiesBefore);
    }

    it('fails no request, and keeps policies, certificates and entries that keep taints off', async () => {
      const { data } = await readCertificates(cp());
      await way.upgrade(cp());
      await replace(['old-1', 'old-2'], ['new-1', 'new-2'], PROGRAM);
      noneFailed();
      await policiesInForce();
      expect((await readCertificates(cp())).data).toEqual(data);
      await register('of-new');
      expect(await taintsOf(cp(), 'kept-off')).toEqual([OTHER_TEXT]);
    });

    it('can be taken back, just so', async () => {
      const { data } = await readCertificates(cp());
      await way.goBack(cp(), previous);
      await replace(['new-1', 'new-2'], ['old-3', 'old-4'], previous.program);
      noneFailed();
      await policiesInForce();
      expect((await readCertificates(cp())).data).toEqual(data);
      await register('of-old-again');
      expect(await taintsOf(cp(), 'kept-off')).toEqual([OTHER_TEXT]);
    });

    it.each([
      { release: 'the older', lost: 'of-new', program: () => previous.program },
      { release: 'the newer', lost: 'of-old', program: () => PROGRAM },
    ])('then, $release release sets a required taint that was lost while no replica ran', async ({ lost, program }) => {
      await stream.stop();
      for (const [name, replica] of installation.replicas) {
        installation.proxy.remove(name);
        await replica.stop();
        installation.replicas.delete(name);
      }
      const body = { spec: { taints: [OTHER] } };
      expect(await attempt(cp(), admin, 'PATCH', path(lost), body, MERGE_PATCH)).toMatchObject({ error: '' });
      expect(await taintsOf(cp(), lost)).toEqual([OTHER_TEXT]);
      await installation.start([`after-${lost}`], { program: program() });
      await waitForTaints(cp(), lost, OTHER_TEXT, REQUIRED_TEXT);
      expect(await taintsOf(cp(), 'kept-off')).toEqual([OTHER_TEXT]);
      quiet(`after-${lost}`);
    });
  });
});
