import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { INSTALL } from '../../../../scripts/chart.ts';
import { gatherCluster } from '../../../../src/doctor/facts/cluster-facts.ts';
import { objectsOf } from '../../../e2e/kubernetes-objects.ts';
import { answer, clientFor, refusal, startFakeApi } from '../../cluster/client/fake-api.ts';
import { INSTALLATION } from '../facts.ts';

const DEPLOYMENT = objectsOf(readFileSync(INSTALL, 'utf8')).find(({ kind }) => kind === 'Deployment');

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
      const images = [
        { names: ['taintkeeper.invalid/taintkeeper:0.1.0', 'registry.k8s.io/pause:3.10'] },
        { names: null },
      ];
      const conditions = [{ type: 'Ready', status: 'False', message: 'container runtime network not ready' }];
      const status = { nodeInfo: { kubeletVersion: 'v1.36.3' }, images, conditions };
      return query.continue
        ? page([{ metadata: { name: 'n2' } }])
        : page([{ metadata: { name: 'n1', uid: 'u1' }, status }], 'more');
    }
    if (path.endsWith('/daemonsets')) return page([{ metadata: { name: 'x', namespace: 'y' } }]);
    if (path.endsWith('/validatingwebhookconfigurations')) return page([{ metadata: { name: 'empty' } }]);
    return page([]);
  });
  const { nodes, daemonSets, configurations } = await gatherCluster((await clientFor(api.url)).client, INSTALLATION);
  expect(nodes).toMatchObject({
    value: [
      {
        name: 'n1',
        uid: 'u1',
        kubeletVersion: 'v1.36.3',
        loadedImages: ['taintkeeper.invalid/taintkeeper:0.1.0'],
        notReady: 'container runtime network not ready',
      },
      { name: 'n2', kubeletVersion: '' },
    ],
  });
  expect(daemonSets).toMatchObject({ ok: false, why: expect.stringContaining('spec') });
  expect(configurations).toMatchObject({
    value: [{ resource: 'validatingwebhookconfigurations', name: 'empty', webhooks: [] }],
  });
});
