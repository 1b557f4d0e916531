import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { INSTALL } from '../../../scripts/chart.ts';
import { checkInstallation } from '../../../src/doctor/checks/service.ts';
import { findInstallation, type InstallationChoice, reinstall } from '../../../src/doctor/installation.ts';
import { objectsOf } from '../../e2e/kubernetes-objects.ts';
import { answer, clientFor, refusal, startFakeApi } from '../cluster/client/fake-api.ts';
import { INSTALLATION } from './facts.ts';

interface Deployment {
  metadata: { namespace?: string; annotations?: Record<string, string> };
  spec: { template: { spec: { containers: { args: string[] }[] } } };
}

const MANIFEST = objectsOf(readFileSync(INSTALL, 'utf8')).find(({ kind }) => kind === 'Deployment');

function deployment(change: (deployment: Deployment) => void = () => {}): Deployment {
  const copy = structuredClone(MANIFEST) as unknown as Deployment;
  change(copy);
  return copy;
}

const inNamespace = (namespace: string) => deployment(({ metadata }) => (metadata.namespace = namespace));
const service = (namespace: string) => ({ metadata: { name: 'taintkeeper', namespace } });

interface Cluster {
  readonly deployments?: readonly Deployment[];
  readonly services?: readonly ReturnType<typeof service>[];
  /** The namespace of the Service that the webhooks call. */
  readonly called?: string;
  /** Where whoever asks may list; everywhere where there is none. */
  readonly mayList?: readonly string[];
  readonly mayGet?: boolean;
}

async function find(
  { deployments = [], services = [], called, mayList, mayGet = true }: Cluster,
  asked: InstallationChoice = {},
) {
  const api = await startFakeApi(({ path, query }, response) => {
    const [, namespace, resource = '', name] =
      /(?:\/namespaces\/([^/]+))?\/(deployments|services)(?:\/([^/]+))?$/.exec(path) ?? [];
    const refuse = (status: number) => answer(response, refusal(status, 'Refused', `cannot list ${path}`), status);
    if (path.endsWith('webhookconfigurations/taintkeeper')) {
      const clientConfig = { service: { namespace: called, name: 'taintkeeper' } };
      return called ? answer(response, { metadata: {}, webhooks: [{ name: 'x', clientConfig }] }) : refuse(404);
    }
    const all: readonly { metadata: { namespace?: string } }[] = resource === 'services' ? services : deployments;
    const items = all.filter(({ metadata }) => namespace === undefined || metadata.namespace === namespace);
    if (name !== undefined) return mayGet && items[0] ? answer(response, items[0]) : refuse(mayGet ? 404 : 403);
    if (mayList !== undefined && !mayList.includes(namespace ?? '')) return refuse(403);
    expect(query.labelSelector).toBe('app.kubernetes.io/name=taintkeeper');
    return answer(response, { metadata: { resourceVersion: '1' }, items });
  });
  const search = await findInstallation((await clientFor(api.url)).client, asked);
  return { search, check: checkInstallation({ search }) };
}

it("reads how it is installed from the manifests' Deployment", async () => {
  const { search } = await find({ deployments: [deployment()], services: [service('taintkeeper')] });
  expect(search).toEqual({ asked: {}, found: [INSTALLATION], chosen: INSTALLATION, blind: undefined });
});

it('sees that it came by Helm, with certificates of somebody else', async () => {
  const byHelm = deployment(({ metadata, spec }) => {
    metadata.annotations = { 'meta.helm.sh/release-name': 'keeper' };
    spec.template.spec.containers[0]?.args.push('--cert-dir=/certs');
  });
  const { search, check } = await find({ deployments: [byHelm] });
  expect(search.chosen).toEqual({ ...INSTALLATION, secret: undefined, helmRelease: 'keeper' });
  expect(check.evidence).toBe('Deployment taintkeeper/taintkeeper of Helm release keeper');
});

it('takes what the manifests have where there is no Deployment', async () => {
  const { search } = await find({ services: [service('taintkeeper')] });
  const nothing = { deployment: undefined, defaultPolicies: undefined, ownerClusterRole: undefined };
  expect(search.chosen).toEqual({ ...INSTALLATION, ...nothing });
});

it('expects the Lease under the name of the Service, also without a Deployment', async () => {
  const { search } = await find({}, { namespace: 'guards', service: 'keeper' });
  expect(search.chosen).toMatchObject({ namespace: 'guards', service: 'keeper', lease: 'keeper' });
});

it('takes the last of several arguments, as the program does, and ignores those of sidecars', async () => {
  const twice = deployment(({ spec: { template } }) => {
    template.spec.containers[0]?.args.push('--service=keeper', '--secret=keeper-certs');
    template.spec.containers.push({ args: ['--service=sidecar'] });
  });
  const { search } = await find({ deployments: [twice] });
  expect(search.chosen).toMatchObject({ service: 'keeper', lease: 'keeper', secret: 'keeper-certs' });
});

it('takes no shell code from a Deployment of another user, as a name or as a Helm release', async () => {
  const forged = deployment(({ metadata, spec: { template } }) => {
    metadata.namespace = 'tenant';
    metadata.annotations = { 'meta.helm.sh/release-name': 'x;reboot' };
    template.spec.containers[0]?.args.push(
      '--service=x;reboot',
      '--secret=../../x;reboot',
      '--default-policies=x;reboot',
    );
  });
  const { search, check } = await find({ deployments: [deployment(), forged], called: 'taintkeeper' });
  expect(check.remedy).toBe(
    'keep one, and take the others away: kubectl delete deployment,service --ignore-not-found --namespace tenant taintkeeper',
  );
  const [, other] = search.found;
  expect(other).toMatchObject({ service: 'taintkeeper', secret: 'taintkeeper-certs', defaultPolicies: undefined });
  expect(other && reinstall(other)).toBe("helm get manifest 'x;reboot' --namespace tenant | kubectl apply -f -");
});

describe('the installation', () => {
  it.each<{
    what: string;
    cluster: Cluster;
    asked?: InstallationChoice;
    chosen: string | undefined;
    state: string;
    says: RegExp;
    remedy?: RegExp;
  }>([
    {
      what: 'is nowhere',
      cluster: {},
      chosen: undefined,
      state: 'problem',
      says: /^taintkeeper is not installed in this cluster: /,
      remedy: /: kubectl apply -f install.yaml$/,
    },
    {
      what: 'is nowhere, not in the namespace that is named either',
      cluster: {},
      asked: { namespace: 'elsewhere' },
      chosen: undefined,
      state: 'problem',
      says: /^taintkeeper is not installed in this cluster: /,
    },
    {
      what: 'is found wherever it is',
      cluster: { deployments: [inNamespace('guards')] },
      chosen: 'guards',
      state: 'ok',
      says: /^Deployment guards\/taintkeeper$/,
    },
    {
      what: 'is in another namespace than the one that is named',
      cluster: { deployments: [inNamespace('guards')] },
      asked: { namespace: 'taintkeeper' },
      chosen: undefined,
      state: 'problem',
      says: /^taintkeeper is not installed in namespace taintkeeper: it is Deployment guards\/taintkeeper$/,
      remedy: /^taintkeeper doctor --namespace guards$/,
    },
    {
      what: 'is there twice: the one whose Service is called is looked into',
      cluster: { deployments: [inNamespace('guards'), inNamespace('taintkeeper')], called: 'taintkeeper' },
      chosen: 'taintkeeper',
      state: 'problem',
      says: /^taintkeeper is installed 2 times: Deployment taintkeeper\/taintkeeper and Deployment guards\/taintkeeper\. /,
      remedy: /: kubectl delete deployment,service --ignore-not-found --namespace guards taintkeeper$/,
    },
    {
      what: 'is there twice, and one is named',
      cluster: { deployments: [inNamespace('guards'), inNamespace('taintkeeper')], called: 'taintkeeper' },
      asked: { namespace: 'guards' },
      chosen: 'guards',
      state: 'problem',
      says: /2 times: Deployment guards\/taintkeeper and /,
    },
    {
      what: 'has left nothing but webhooks: what they call is the question',
      cluster: { called: 'guards' },
      chosen: 'guards',
      state: 'skipped',
      says: /see Service$/,
    },
    {
      what: 'has a Service that is named, and not found: whether it is there is the question',
      cluster: { deployments: [inNamespace('guards')] },
      asked: { service: 'other' },
      chosen: 'guards',
      state: 'ok',
      says: /guards/,
    },
    {
      what: 'is found by who may see its namespace alone',
      cluster: { deployments: [inNamespace('guards')], called: 'guards', mayList: ['guards'] },
      chosen: 'guards',
      state: 'ok',
      says: /^Deployment guards\/taintkeeper$/,
    },
    {
      what: 'is found by who may get its Service, and list nothing, as its own service account',
      cluster: { services: [service('taintkeeper')], mayList: [] },
      chosen: 'taintkeeper',
      state: 'ok',
      says: /^Service taintkeeper\/taintkeeper$/,
    },
    {
      what: 'is looked for in vain by who may see nothing',
      cluster: { mayList: [], mayGet: false },
      chosen: 'taintkeeper',
      state: 'skipped',
      says: /^you may not list /,
    },
  ])('$what', async ({ cluster, asked, chosen, state, says, remedy }) => {
    const { search, check } = await find(cluster, asked);
    expect(search.chosen?.namespace).toBe(chosen);
    expect(check).toMatchObject({ state, evidence: expect.stringMatching(says) });
    if (remedy) expect(check.remedy).toMatch(remedy);
  });
});
