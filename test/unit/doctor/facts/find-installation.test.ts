import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { INSTALL } from '../../../../scripts/chart.ts';
import { checkInstallation } from '../../../../src/doctor/checks/installation.ts';
import type { InstallationChoice } from '../../../../src/doctor/facts/choose-installation.ts';
import { findInstallation } from '../../../../src/doctor/facts/find-installation.ts';
import { reinstall } from '../../../../src/doctor/reinstall.ts';
import { objectsOf } from '../../../e2e/kubernetes-objects.ts';
import { answer, clientFor, refusal, startFakeApi } from '../../cluster/client/fake-api.ts';
import { INSTALLATION } from '../facts.ts';

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
  /** The namespaces of the ServiceAccounts in the ClusterRoleBinding. Undefined if the user may not read it. */
  readonly bound?: readonly string[];
  /** Where whoever asks may list; everywhere where there is none. */
  readonly mayList?: readonly string[];
  readonly mayListServices?: boolean;
  readonly mayGet?: boolean;
}

async function find(
  { deployments = [], services = [], called, bound, mayList, mayListServices = true, mayGet = true }: Cluster,
  choice: InstallationChoice = {},
) {
  const api = await startFakeApi(({ path, query }, response) => {
    const [, namespace, resource = '', name] =
      /(?:\/namespaces\/([^/]+))?\/(deployments|services)(?:\/([^/]+))?$/.exec(path) ?? [];
    const refuse = (status: number) => answer(response, refusal(status, 'Refused', `cannot list ${path}`), status);
    if (path.endsWith('webhookconfigurations/taintkeeper')) {
      const clientConfig = { service: { namespace: called, name: 'taintkeeper' } };
      return called ? answer(response, { metadata: {}, webhooks: [{ name: 'x', clientConfig }] }) : refuse(404);
    }
    if (path.endsWith('clusterrolebindings/taintkeeper')) {
      const subjects = bound?.map((name) => ({ kind: 'ServiceAccount', name: 'taintkeeper', namespace: name }));
      return subjects ? answer(response, { subjects }) : refuse(403);
    }
    const all: readonly { metadata: { namespace?: string } }[] = resource === 'services' ? services : deployments;
    const items = all.filter(({ metadata }) => namespace === undefined || metadata.namespace === namespace);
    if (name !== undefined) return mayGet && items[0] ? answer(response, items[0]) : refuse(mayGet ? 404 : 403);
    if (resource === 'services' && !mayListServices) return refuse(403);
    if (mayList !== undefined && !mayList.includes(namespace ?? '')) return refuse(403);
    expect(query.labelSelector).toBe('app.kubernetes.io/name=taintkeeper');
    return answer(response, { metadata: { resourceVersion: '1' }, items });
  });
  const search = await findInstallation((await clientFor(api.url)).client, choice);
  return { search, check: checkInstallation({ search }) };
}

it("reads how it is installed from the manifests' Deployment", async () => {
  const { search } = await find({
    deployments: [deployment()],
    services: [service('taintkeeper')],
    bound: ['taintkeeper'],
  });
  expect(search).toEqual({
    choice: {},
    found: [INSTALLATION],
    unconfirmed: [],
    chosen: INSTALLATION,
    blind: undefined,
  });
});

it('detects an installation by Helm, with certificates of another issuer', async () => {
  const byHelm = deployment(({ metadata, spec }) => {
    metadata.annotations = { 'meta.helm.sh/release-name': 'keeper' };
    spec.template.spec.containers[0]?.args.push('--cert-dir=/certs');
  });
  const { search, check } = await find({ deployments: [byHelm], bound: ['taintkeeper'] });
  const certificates = { kind: 'files', secret: undefined };
  expect(search.chosen).toEqual({
    ...INSTALLATION,
    deployment: { ...INSTALLATION.deployment, certificates },
    helmRelease: 'keeper',
  });
  expect(check.evidence).toBe('Deployment taintkeeper/taintkeeper of Helm release keeper');
});

it('takes what the manifests have where there is no Deployment', async () => {
  const { search } = await find({ services: [service('taintkeeper')], bound: ['taintkeeper'] });
  const nothing = { deployment: undefined, defaultPolicies: undefined, ownerClusterRole: undefined };
  expect(search.chosen).toEqual({ ...INSTALLATION, ...nothing });
});

it('takes the last of several arguments, as the program does, and ignores those of sidecars', async () => {
  const twice = deployment(({ spec: { template } }) => {
    template.spec.containers[0]?.args.push('--default-policies=first', '--default-policies=keeper-policies');
    template.spec.containers.push({ args: ['--default-policies=sidecar'] });
  });
  const { search } = await find({ deployments: [twice], bound: ['taintkeeper'] });
  expect(search.chosen).toMatchObject({ defaultPolicies: 'keeper-policies' });
});

it('takes no shell code from a Deployment of another user, as a name or as a Helm release', async () => {
  const forged = deployment(({ metadata, spec: { template } }) => {
    metadata.namespace = 'tenant';
    metadata.annotations = { 'meta.helm.sh/release-name': 'x;reboot' };
    template.spec.containers[0]?.args.push('--default-policies=x;reboot');
  });
  const { search } = await find({ deployments: [deployment(), forged], called: 'taintkeeper' });
  const [other] = search.unconfirmed;
  expect(other).toMatchObject({ service: 'taintkeeper', defaultPolicies: undefined });
  expect(other && reinstall(other)).toBe("helm get manifest 'x;reboot' --namespace tenant | kubectl apply -f -");
});

describe('a Deployment of another user with the label of taintkeeper', () => {
  const tenant = inNamespace('a-tenant');
  it.each<{ where: string; cluster: Cluster; chosen: string | undefined; state: string; remedy?: string }>([
    {
      where: 'beside an installation without webhooks',
      cluster: { deployments: [tenant, deployment()], bound: ['taintkeeper'] },
      chosen: 'taintkeeper',
      state: 'note',
    },
    {
      where: 'beside one whose Service the webhooks call',
      cluster: { deployments: [tenant, deployment()], called: 'taintkeeper' },
      chosen: 'taintkeeper',
      state: 'note',
    },
    {
      where: 'alone',
      cluster: { deployments: [tenant], bound: [] },
      chosen: undefined,
      state: 'problem',
      remedy: 'if that is taintkeeper: taintkeeper doctor --namespace a-tenant',
    },
    {
      where: 'where nothing cluster-wide can be read',
      cluster: { deployments: [tenant, deployment()] },
      chosen: undefined,
      state: 'problem',
      remedy: 'if that is taintkeeper: taintkeeper doctor --namespace a-tenant',
    },
    {
      where: 'beside webhooks whose Deployment was deleted',
      cluster: { deployments: [tenant], called: 'taintkeeper' },
      chosen: 'taintkeeper',
      state: 'skipped',
    },
  ])('is not checked as the installation, and no command deletes or grants anything for it: $where', async (row) => {
    const { search, check } = await find(row.cluster);
    expect(search.chosen?.namespace).toBe(row.chosen);
    expect(check).toMatchObject({ state: row.state });
    expect(check.remedy).toBe(row.remedy);
  });

  it('is checked if the user names its namespace', async () => {
    const { search } = await find({ deployments: [tenant] }, { namespace: 'a-tenant' });
    expect(search.chosen?.namespace).toBe('a-tenant');
  });
});

describe('the installation', () => {
  it.each<{
    what: string;
    cluster: Cluster;
    choice?: InstallationChoice;
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
      choice: { namespace: 'elsewhere' },
      chosen: undefined,
      state: 'problem',
      says: /^taintkeeper is not installed in this cluster: /,
    },
    {
      what: 'is found wherever it is',
      cluster: { deployments: [inNamespace('guards')], bound: ['guards'] },
      chosen: 'guards',
      state: 'ok',
      says: /^Deployment guards\/taintkeeper$/,
    },
    {
      what: 'is in another namespace than the one that is named',
      cluster: { deployments: [inNamespace('guards')], bound: ['guards'] },
      choice: { namespace: 'taintkeeper' },
      chosen: undefined,
      state: 'problem',
      says: /^taintkeeper is not installed in namespace taintkeeper: it is Deployment guards\/taintkeeper$/,
      remedy: /^taintkeeper doctor --namespace guards$/,
    },
    {
      what: 'is there twice: the one whose Service is called is looked into',
      cluster: {
        deployments: [inNamespace('guards'), inNamespace('taintkeeper')],
        called: 'taintkeeper',
        bound: ['guards', 'taintkeeper'],
      },
      chosen: 'taintkeeper',
      state: 'problem',
      says: /^taintkeeper is installed 2 times: Deployment taintkeeper\/taintkeeper and Deployment guards\/taintkeeper\. /,
      remedy: /^keep one, /,
    },
    {
      what: 'is there twice, and one is named',
      cluster: { deployments: [inNamespace('guards'), inNamespace('taintkeeper')], called: 'taintkeeper' },
      choice: { namespace: 'guards' },
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
      what: 'is found by who may see its namespace alone',
      cluster: { deployments: [inNamespace('guards')], called: 'guards', mayList: ['guards'] },
      chosen: 'guards',
      state: 'ok',
      says: /^Deployment guards\/taintkeeper$/,
    },
    {
      what: 'is found by who may get its Service, and list nothing, as its own service account',
      cluster: { services: [service('taintkeeper')], mayList: [], called: 'taintkeeper' },
      chosen: 'taintkeeper',
      state: 'ok',
      says: /^Service taintkeeper\/taintkeeper$/,
    },
    {
      what: 'is elsewhere, and the user may not list all in the namespace that is named',
      cluster: {
        deployments: [inNamespace('guards')],
        bound: ['guards'],
        mayList: [''],
        mayListServices: false,
        mayGet: false,
      },
      choice: { namespace: 'foo' },
      chosen: 'foo',
      state: 'skipped',
      says: /^taintkeeper is Deployment guards\/taintkeeper\. Whether it is in namespace foo as well is not known: you may not list .*services/,
    },
    {
      what: 'is not found by a user who may see nothing: namespace taintkeeper is assumed',
      cluster: { mayList: [], mayGet: false },
      chosen: 'taintkeeper',
      state: 'skipped',
      says: /^you may not list /,
    },
  ])('$what', async ({ cluster, choice, chosen, state, says, remedy }) => {
    const { search, check } = await find(cluster, choice);
    expect(search.chosen?.namespace).toBe(chosen);
    expect(check).toMatchObject({ state, evidence: expect.stringMatching(says) });
    if (remedy) expect(check.remedy).toMatch(remedy);
  });
});
