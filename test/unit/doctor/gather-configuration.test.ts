import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { INSTALL } from '../../../scripts/chart.ts';
import { gatherCluster } from '../../../src/doctor/cluster-facts.ts';
import { readInstallation } from '../../../src/doctor/installation.ts';
import { objectsOf } from '../../e2e/kubernetes-objects.ts';
import { answer, clientFor, refusal, startFakeApi } from '../cluster/client/fake-api.ts';
import { INSTALLATION } from './facts.ts';

const PLACE = { namespace: 'taintkeeper', service: 'taintkeeper', secret: 'taintkeeper-certs' };
const DEPLOYMENT = objectsOf(readFileSync(INSTALL, 'utf8')).find(({ kind }) => kind === 'Deployment');

async function installation(deployment: unknown) {
  const api = await startFakeApi((_, response) =>
    deployment ? answer(response, deployment) : answer(response, refusal(404, 'NotFound', 'no'), 404),
  );
  return readInstallation((await clientFor(api.url)).client, PLACE);
}

it("reads how it is installed from the manifests' Deployment", async () => {
  expect(await installation(DEPLOYMENT)).toEqual(INSTALLATION);
});

it('sees that it came by Helm, with certificates of somebody else', async () => {
  const deployment = structuredClone(DEPLOYMENT) as unknown as {
    metadata: { annotations?: Record<string, string> };
    spec: { template: { spec: { containers: { args: string[] }[] } } };
  };
  deployment.metadata.annotations = { 'meta.helm.sh/release-name': 'keeper' };
  deployment.spec.template.spec.containers[0]?.args.push('--cert-dir=/certs');
  expect(await installation(deployment)).toEqual({ ...INSTALLATION, secret: undefined, helmRelease: 'keeper' });
});

it('takes what the manifests have where there is no Deployment', async () => {
  const expected = { ...INSTALLATION, defaultPolicies: undefined, ownerClusterRole: undefined };
  expect(await installation(undefined)).toEqual(expected);
});

it('never fails: what may not be read says so', async () => {
  const api = await startFakeApi((_, response) => answer(response, refusal(403, 'Forbidden', 'not\nyou'), 403));
  const { builtin, ...facts } = await gatherCluster((await clientFor(api.url)).client, INSTALLATION);
  expect(builtin.length).toBeGreaterThan(0);
  for (const reading of Object.values(facts)) {
    expect(reading).toEqual({ ok: false, status: 403, why: expect.stringMatching(/403 Forbidden: not[^\n]*you$/) });
  }
});

it('a list may come in pages, and one object that cannot be read spoils that list alone', async () => {
  let renewals = 0;
  const api = await startFakeApi(({ path, query }, response) => {
    if (path.endsWith('/deployments/taintkeeper')) return answer(response, DEPLOYMENT);
    if (path.endsWith('/leases/taintkeeper')) {
      return answer(response, { metadata: { resourceVersion: `${renewals++}` }, spec: { holderIdentity: 'tk-0' } });
    }
    const page = (items: unknown[], rest?: string) =>
      answer(response, { metadata: { resourceVersion: '1', continue: rest }, items });
    if (path === '/api/v1/nodes') {
      const status = { nodeInfo: { kubeletVersion: 'v1.36.3' } };
      return query.continue
        ? page([{ metadata: { name: 'n2' } }])
        : page([{ metadata: { name: 'n1' }, status }], 'more');
    }
    if (path.endsWith('/daemonsets')) return page([{ metadata: { name: 'x', namespace: 'y' } }]);
    if (path.endsWith('/validatingwebhookconfigurations')) return page([{ metadata: { name: 'empty' } }]);
    return page([]);
  });
  const { nodes, daemonSets, configurations } = await gatherCluster((await clientFor(api.url)).client, INSTALLATION);
  expect(nodes).toMatchObject({
    value: [
      { name: 'n1', kubeletVersion: 'v1.36.3' },
      { name: 'n2', kubeletVersion: '' },
    ],
  });
  expect(daemonSets).toMatchObject({ ok: false, why: expect.stringContaining('spec') });
  expect(configurations).toMatchObject({
    value: [{ resource: 'validatingwebhookconfigurations', name: 'empty', webhooks: [] }],
  });
});
