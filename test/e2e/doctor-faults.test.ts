import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { NAMESPACE, SERVICE } from '../control-plane/replicas.ts';
import { admin } from '../control-plane/users.ts';
import { base64 } from './certificate-data.ts';
import { issue, ON_PODS, REPLICAS } from './doctor-rig.ts';
import { type Fault, type HealthyInstallation, startHealthyInstallation } from './healthy-installation.ts';
import { AS_IN_A_CLUSTER, configurationPath } from './installation.ts';

const SKEWED_CLOCK = new URL('./skewed-clock.ts', import.meta.url);
const HOUR_MS = 3_600_000;
const SERVICE_PATH = `/api/v1/namespaces/${NAMESPACE}/services/${SERVICE}`;

describeWithControlPlane('doctor, while no leader repairs anything, names certificate or network', ON_PODS, (cp) => {
  let installation: HealthyInstallation;

  beforeAll(async () => {
    installation = await startHealthyInstallation(cp(), AS_IN_A_CLUSTER);
    await installation.rig.holdLease();
  });
  afterAll(() => installation?.rig.stop());

  let ports: unknown[] = [];
  let configurations: { path: string; webhooks: { clientConfig: object }[] }[] = [];

  const faults: Fault[] = [
    {
      fault: 'a serving certificate that has expired',
      result: 'certificate',
      check: 'serving certificate',
      inGuide: true,
      says: /^the certificate of taintkeeper-a, taintkeeper-b is not valid after /,
      async breakIt() {
        await installation.rig.restart(await issue({ days: 91, ca: installation.pair.ca }));
        await installation.rig.reflect();
      },
      async fixIt() {
        await installation.rig.serve(installation.pair);
        await installation.rig.reflect();
      },
    },
    {
      fault: 'a name that is missing from the certificate',
      result: 'certificate',
      check: 'certificate names',
      says: /asks for taintkeeper.taintkeeper.svc, and the certificate of taintkeeper-a, taintkeeper-b is for .*other.taintkeeper.svc/,
      async breakIt() {
        await installation.rig.restart(await issue({ ca: installation.pair.ca, name: 'other.taintkeeper.svc' }));
      },
      fixIt: () => installation.rig.serve(installation.pair),
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
          await installation.rig.patch(path, { webhooks: changed });
        }
      },
      fixIt: () => Promise.all(configurations.map(({ path, webhooks }) => installation.rig.patch(path, { webhooks }))),
    },
    {
      fault: 'replicas that disagree',
      result: 'certificate',
      check: 'agreement of replicas',
      says: /does not trust taintkeeper-b/,
      async breakIt() {
        // One that runs takes no certificate that nobody trusts.
        await installation.rig.remove('taintkeeper-b');
        await installation.rig.add('taintkeeper-b', await issue({ days: 1 }));
      },
      fixIt: () => installation.rig.serve(installation.pair),
    },
    {
      fault: 'a clock that is an hour ahead',
      result: 'certificate',
      check: 'clocks',
      says: /the clock of taintkeeper-skewed is 1 h 0 min ahead/,
      breakIt: () =>
        installation.rig.add('taintkeeper-skewed', installation.pair, {
          NODE_OPTIONS: `--import=${SKEWED_CLOCK}`,
          CLOCK_AHEAD_MS: String(HOUR_MS),
        }),
      fixIt: () => installation.rig.remove('taintkeeper-skewed'),
    },
    {
      fault: 'a Service without endpoints',
      result: 'network',
      check: 'endpoints',
      says: /has no ready endpoint; 2 of its pods are ready/,
      breakIt: () => Promise.all(REPLICAS.map((name) => installation.rig.lead(name, undefined))),
      fixIt: () => installation.rig.reflect(),
    },
    {
      fault: 'a Service without the port that the webhooks call',
      result: 'network',
      check: 'Service',
      says: /the webhooks call port \d+ of Service taintkeeper\/taintkeeper, which has 8443/,
      async breakIt() {
        const { spec } = (await cp().request<{ spec: { ports: unknown[] } }>(admin, 'GET', SERVICE_PATH)).body;
        ports = spec.ports;
        await installation.rig.patch(SERVICE_PATH, {
          spec: { ports: [{ name: 'webhook', port: 8443, targetPort: 'webhook' }] },
        });
      },
      fixIt: () => installation.rig.patch(SERVICE_PATH, { spec: { ports } }),
    },
    {
      fault: 'endpoints with a port on which no replica listens',
      result: 'network',
      check: 'endpoints',
      says: /leads to port 1 of taintkeeper-a, which listens on \d+ \(webhook\)/,
      breakIt: () => Promise.all(REPLICAS.map((name) => installation.rig.lead(name, 1))),
      fixIt: () => installation.rig.reflect(),
    },
    {
      fault: 'packets that are lost',
      result: 'network',
      check: 'round trip',
      says: /the API server calls taintkeeper-a .*no answer: packets are lost/,
      async breakIt() {
        for (const { proxy } of installation.rig.members.values()) proxy.pause();
      },
      async fixIt() {
        for (const { proxy } of installation.rig.members.values()) {
          proxy.resume();
          proxy.dropConnections();
        }
      },
    },
    {
      fault: 'a process that has ended',
      result: 'network',
      check: 'round trip',
      says: /the API server calls taintkeeper-b .*connection refused/,
      async breakIt() {
        const member = installation.rig.members.get('taintkeeper-b');
        await member?.replica.kill();
        await member?.proxy.stop();
      },
      fixIt: () => installation.rig.remove('taintkeeper-b'),
    },
  ];

  it.each(faults)('for $fault', (fault) => installation.namesIt(fault));

  it('has no complaint when all is fixed', async () => {
    const { code } = await installation.healthy();
    expect(code).toBe(0);
  });
});
