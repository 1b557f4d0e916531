import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { formatDiagnosis } from '../../src/cli/doctor.ts';
import type { CheckResult, Diagnosis } from '../../src/doctor/check.ts';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { NAMESPACE, SERVICE } from '../control-plane/replicas.ts';
import { admin, developer } from '../control-plane/users.ts';
import { waitUntil } from '../control-plane/wait-until.ts';
import { base64 } from './certificate-data.ts';
import { type DaemonSet, toleratesMaster } from './daemon-sets.ts';
import { type DoctorRig, issue, obstacleToPods, type Pair, REPLICAS, startDoctorRig } from './doctor-rig.ts';
import { configurationPath, registerControlPlaneNode, waitUntilProtected } from './installation.ts';
import { runTaintkeeper } from './run-taintkeeper.ts';

const SKEWED_CLOCK = new URL('./skewed-clock.ts', import.meta.url);
const HOUR_MS = 3_600_000;
const CLUSTER_ROLE = '/apis/rbac.authorization.k8s.io/v1/clusterroles/taintkeeper';
const TAINT_POLICIES = '/apis/taintkeeper.dev/v1alpha1/taintpolicies';
const SERVICE_PATH = `/api/v1/namespaces/${NAMESPACE}/services/${SERVICE}`;

const GUIDE = readFileSync(new URL('../../docs/troubleshooting.md', import.meta.url), 'utf8');
const OUTPUTS = [...GUIDE.matchAll(/^```console\n\$ taintkeeper doctor.*\n([\s\S]*?)^```$/gm)].map(
  ([, output = '']) => output,
);

/** The guide's output but for what differs from one run, and one machine, to the next. */
function expectInGuide(index: number, diagnosis: Diagnosis, all = false): void {
  const shape = (text: string) =>
    text
      .replaceAll(/\b([0-9A-F]{2}:){7}[0-9A-F]{2}\b/g, 'FINGERPRINT')
      .replaceAll(/\S+_[0-9a-f-]{36} holds/g, 'LEADER holds')
      .replaceAll(/\d[\d.:TZ-]*/g, '0')
      .replaceAll(/ +/g, ' ');
  expect(shape(formatDiagnosis(diagnosis, 'table', { all }))).toBe(shape(OUTPUTS[index] ?? ''));
}

interface Fault {
  readonly fault: string;
  readonly result: Diagnosis['result'];
  /** The one check that has a problem. */
  readonly check: string;
  readonly says: RegExp;
  /** Which output of docs/troubleshooting.md it is. */
  readonly inGuide?: number;
  breakIt(): Promise<unknown>;
  fixIt(): Promise<unknown>;
}

describeWithControlPlane('doctor', { routesToEndpoints: true, obstacle: obstacleToPods }, (cp) => {
  let rig: DoctorRig;
  let pair: Pair;

  beforeAll(async () => {
    pair = await issue({ days: 1 });
    rig = await startDoctorRig(cp(), pair);
    await registerControlPlaneNode(cp(), 'cp-1');
    await waitUntilProtected(cp(), 'cp-1');
    await makeFlannel();
    await waitUntilHealthy();
  });
  afterAll(() => rig?.stop());

  async function doctor(): Promise<{ code: number; diagnosis: Diagnosis }> {
    const { code, stdout, stderr } = await runTaintkeeper(cp(), ['doctor', '-o', 'json']);
    if (stdout === '') throw new Error(`doctor printed nothing, and ended with ${code}: ${stderr}`);
    for (const { serving, ca } of [pair]) {
      for (const { key } of [serving, ca]) expect(stdout).not.toContain(key.split('\n')[1]);
    }
    return { code, diagnosis: JSON.parse(stdout) };
  }

  const problemsOf = ({ checks }: Diagnosis) => checks.filter(({ state }) => state === 'problem');

  /** What was broken may take a moment to be whole again: statuses are written, certificates read anew. */
  async function waitUntilHealthy(): Promise<void> {
    let last: readonly CheckResult[] = [];
    await waitUntil(
      async () => {
        const { diagnosis } = await doctor();
        last = problemsOf(diagnosis);
        return diagnosis.result === 'healthy' ? true : undefined;
      },
      { timeoutMs: 40_000, otherwise: () => `still not healthy: ${JSON.stringify(last, null, 2)}` },
    );
  }

  async function makeFlannel(): Promise<void> {
    const labels = { app: 'flannel' };
    const body = {
      metadata: { name: 'kube-flannel-ds' },
      spec: {
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { containers: [{ name: 'flannel', image: 'example.com/flannel' }] } },
      },
    };
    await cp().request(admin, 'POST', '/api/v1/namespaces', { body: { metadata: { name: 'kube-flannel' } } });
    const path = '/apis/apps/v1/namespaces/kube-flannel/daemonsets';
    // A webhook that does not answer within two seconds is ignored: on a busy machine the DaemonSet can pass without its tolerations.
    await waitUntil(
      async () => {
        const created = await cp().request<DaemonSet>(admin, 'POST', path, { body });
        expect(created.status).toBe(201);
        if (toleratesMaster(created.body)) return true;
        await cp().request(admin, 'DELETE', `${path}/kube-flannel-ds`);
        return undefined;
      },
      { timeoutMs: 40_000, otherwise: () => 'the webhook adds no tolerations' },
    );
  }

  async function namesIt({ result, check, says, inGuide, breakIt, fixIt }: Fault): Promise<void> {
    await breakIt();
    try {
      const { code, diagnosis } = await doctor();
      const problems = problemsOf(diagnosis);
      const found = { result: diagnosis.result, problems: [...new Set(problems.map(({ name }) => name))] };
      expect(found, JSON.stringify(diagnosis, null, 2)).toEqual({ result, problems: [check] });
      expect(diagnosis.summary).toMatch(says);
      for (const { remedy } of problems) expect(remedy).toBeDefined();
      expect(code).toBe(1);
      if (inGuide !== undefined) expectInGuide(inGuide, diagnosis);
    } finally {
      await fixIt();
    }
  }

  it('has no complaint of an installation that is well', async () => {
    const { code, diagnosis } = await doctor();
    expect(diagnosis.checks.filter(({ state }) => state !== 'ok')).toEqual([]);
    expect(diagnosis.result).toBe('healthy');
    expect(code).toBe(0);
    expectInGuide(0, diagnosis);
    expectInGuide(2, diagnosis, true);
  });

  const OTHER = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations';
  let rules: unknown[] = [];
  let configurations: { path: string; webhooks: { clientConfig: object }[] }[] = [];

  const configurationFaults: Fault[] = [
    {
      fault: 'a right that is missing',
      result: 'configuration',
      check: 'rights',
      says: /may not patch nodes/,
      async breakIt() {
        const role = (
          await cp().request<{ rules: { resources: string[]; verbs: string[] }[] }>(admin, 'GET', CLUSTER_ROLE)
        ).body;
        rules = role.rules;
        const fewer = role.rules.map((rule) =>
          rule.resources.includes('nodes') ? { ...rule, verbs: ['get', 'list', 'watch'] } : rule,
        );
        await rig.patch(CLUSTER_ROLE, { rules: fewer });
      },
      fixIt: () => rig.patch(CLUSTER_ROLE, { rules }),
    },
    {
      fault: 'a policy that can select nothing',
      result: 'configuration',
      check: 'selectors',
      says: /TaintPolicy gpu-pool can select no node: nothing is pool=gpu, !pool/,
      breakIt: () =>
        cp().request(admin, 'POST', TAINT_POLICIES, {
          body: {
            apiVersion: 'taintkeeper.dev/v1alpha1',
            kind: 'TaintPolicy',
            metadata: { name: 'gpu-pool' },
            spec: {
              mode: 'Deny',
              nodeSelector: {
                matchLabels: { pool: 'gpu' },
                matchExpressions: [{ key: 'pool', operator: 'DoesNotExist' }],
              },
              taints: [{ key: 'dedicated', effect: 'NoSchedule', restrict: ['Removal'] }],
            },
          },
        }),
      fixIt: () => cp().request(admin, 'DELETE', `${TAINT_POLICIES}/gpu-pool`),
    },
    {
      fault: "somebody else's webhook, with Fail on nodes",
      result: 'configuration',
      check: 'other webhooks',
      says: /no node registers/,
      breakIt: () =>
        cp().request(admin, 'POST', OTHER, {
          body: {
            metadata: { name: 'somebody-else' },
            webhooks: [
              {
                name: 'check.example.com',
                clientConfig: { url: 'https://127.0.0.1:1/check' },
                rules: [
                  { apiGroups: [''], apiVersions: ['v1'], resources: ['nodes'], operations: ['CREATE', 'UPDATE'] },
                ],
                failurePolicy: 'Fail',
                sideEffects: 'None',
                admissionReviewVersions: ['v1'],
              },
            ],
          },
        }),
      fixIt: () => cp().request(admin, 'DELETE', `${OTHER}/somebody-else`),
    },
  ];

  const otherFaults: Fault[] = [
    {
      fault: 'a serving certificate that has expired',
      result: 'certificate',
      check: 'serving certificate',
      inGuide: 1,
      says: /^the certificate of taintkeeper-a, taintkeeper-b is not valid after /,
      async breakIt() {
        await rig.serve(await issue({ days: 91, ca: pair.ca }));
        await rig.reflect();
      },
      async fixIt() {
        await rig.serve(pair);
        await rig.reflect();
      },
    },
    {
      fault: 'a name that is missing from the certificate',
      result: 'certificate',
      check: 'certificate names',
      says: /asks for taintkeeper.taintkeeper.svc, and the certificate of taintkeeper-a, taintkeeper-b is for .*other.taintkeeper.svc/,
      async breakIt() {
        await rig.serve(await issue({ ca: pair.ca, name: 'other.taintkeeper.svc' }));
      },
      fixIt: () => rig.serve(pair),
    },
    {
      fault: 'another CA in the caBundle',
      result: 'certificate',
      check: 'caBundle',
      says: /^all \d+ webhooks: the caBundle trusts taintkeeper CA/,
      async breakIt() {
        const caBundle = base64((await issue()).ca.cert);
        configurations = await Promise.all(
          (['mutating', 'validating'] as const).map(async (kind) => {
            const path = configurationPath(kind);
            const { webhooks } = (await cp().request<(typeof configurations)[number]>(admin, 'GET', path)).body;
            return { path, webhooks };
          }),
        );
        for (const { path, webhooks } of configurations) {
          const changed = webhooks.map((webhook) => ({
            ...webhook,
            clientConfig: { ...webhook.clientConfig, caBundle },
          }));
          await rig.patch(path, { webhooks: changed });
        }
      },
      fixIt: () => Promise.all(configurations.map(({ path, webhooks }) => rig.patch(path, { webhooks }))),
    },
    {
      fault: 'replicas that disagree',
      result: 'certificate',
      check: 'agreement of replicas',
      says: /does not trust taintkeeper-b/,
      async breakIt() {
        // One that runs takes no certificate that nobody trusts.
        await rig.remove('taintkeeper-b');
        await rig.add('taintkeeper-b', await issue({ days: 1 }));
      },
      fixIt: () => rig.serve(pair),
    },
    {
      fault: 'a clock that is an hour ahead',
      result: 'certificate',
      check: 'clocks',
      says: /the clock of taintkeeper-skewed is 1 h 0 min ahead/,
      breakIt: () =>
        rig.add('taintkeeper-skewed', pair, {
          NODE_OPTIONS: `--import=${SKEWED_CLOCK}`,
          CLOCK_AHEAD_MS: String(HOUR_MS),
        }),
      fixIt: () => rig.remove('taintkeeper-skewed'),
    },
    {
      fault: 'a Service without endpoints',
      result: 'network',
      check: 'endpoints',
      says: /has no ready endpoint; 2 of its pods are ready/,
      breakIt: () => Promise.all(REPLICAS.map((name) => rig.lead(name, undefined))),
      fixIt: () => rig.reflect(),
    },
    {
      fault: 'a port of the Service that nobody calls',
      result: 'network',
      check: 'Service',
      says: /the webhooks call port \d+ of Service taintkeeper\/taintkeeper, which has 8443/,
      async breakIt() {
        const { spec } = (await cp().request<{ spec: { ports: unknown[] } }>(admin, 'GET', SERVICE_PATH)).body;
        rules = spec.ports;
        await rig.patch(SERVICE_PATH, { spec: { ports: [{ name: 'webhook', port: 8443, targetPort: 'webhook' }] } });
      },
      fixIt: () => rig.patch(SERVICE_PATH, { spec: { ports: rules } }),
    },
    {
      fault: 'a port of the pods on which nobody listens',
      result: 'network',
      check: 'endpoints',
      says: /leads to port 1 of taintkeeper-a, which listens on \d+ \(webhook\)/,
      breakIt: () => Promise.all(REPLICAS.map((name) => rig.lead(name, 1))),
      fixIt: () => rig.reflect(),
    },
    {
      fault: 'packets that are dropped',
      result: 'network',
      check: 'round trip',
      says: /the API server calls taintkeeper-a .*no answer: packets are lost/,
      async breakIt() {
        for (const { proxy } of rig.members.values()) proxy.pause();
      },
      async fixIt() {
        for (const { proxy } of rig.members.values()) {
          proxy.resume();
          proxy.dropConnections();
        }
      },
    },
    {
      fault: 'a process that is gone',
      result: 'network',
      check: 'round trip',
      says: /the API server calls taintkeeper-b .*connection refused/,
      async breakIt() {
        const member = rig.members.get('taintkeeper-b');
        await member?.replica.kill();
        await member?.proxy.stop();
      },
      fixIt: () => rig.remove('taintkeeper-b'),
    },
  ];

  describe('names the configuration', () => {
    it.each(configurationFaults)('for $fault', namesIt);
  });

  describe('names certificate or network, while no leader repairs anything,', () => {
    beforeAll(() => rig.holdLease());
    it.each(otherFaults)('for $fault', namesIt);
  });

  it('has no complaint when all is fixed', async () => {
    const { code, diagnosis } = await doctor();
    expect(problemsOf(diagnosis)).toEqual([]);
    expect(code).toBe(0);
  });

  it('does not call well what somebody may not see', async () => {
    const kubeconfig = await cp().kubeconfigFile(developer);
    const { code, stdout } = await runTaintkeeper(cp(), ['doctor', '--kubeconfig', kubeconfig]);
    expect(stdout).toMatch(/^unknown: .*: you may not /);
    expect(code).toBe(2);
  });

  it('says so when there is no cluster to look at', async () => {
    const nowhere = await cp().kubeconfigFile(admin, 'https://127.0.0.1:1');
    const { code, stdout, stderr } = await runTaintkeeper(cp(), ['doctor', '--kubeconfig', nowhere]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(/^taintkeeper: https:\/\/127.0.0.1:1: GET \/version: connect ECONNREFUSED/);
  });
});
