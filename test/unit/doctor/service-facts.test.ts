import { expect, it } from 'vitest';
import { gatherService } from '../../../src/doctor/service-facts.ts';
import { answer, clientFor, refusal, startFakeApi } from '../cluster/client/fake-api.ts';
import { INSTALLATION } from './facts.ts';

const FROM_FILES = { ...INSTALLATION, secret: undefined };
const OWN = { kind: 'secret', secret: 'taintkeeper-certs' };

const servingOwn = {
  metadata: { name: 'b' },
  spec: { containers: [{ args: ['serve', '--cluster'] }] },
  status: { podIP: '10.0.0.2' },
};

const servingFiles = {
  metadata: { name: 'a' },
  spec: {
    containers: [{ args: ['serve', '--cert-dir=/certs'], volumeMounts: [{ name: 'certs', mountPath: '/certs' }] }],
    volumes: [{ name: 'certs', secret: { secretName: 'taintkeeper-tls' } }],
  },
  status: { podIP: '10.0.0.1' },
};

it.each<{ why: string; installation: typeof INSTALLATION; pods?: readonly object[]; source: object }>([
  {
    why: 'as its pods say',
    installation: INSTALLATION,
    pods: [servingFiles],
    source: { kind: 'files', secret: 'taintkeeper-tls' },
  },
  { why: 'its own, if the user may not read pods', installation: INSTALLATION, source: OWN },
  { why: 'its own, if there is no pod', installation: INSTALLATION, pods: [], source: OWN },
  {
    why: 'files, if its Deployment says so and the user may not read pods',
    installation: FROM_FILES,
    source: { kind: 'files', secret: undefined },
  },
  {
    why: 'files, if its Deployment says so and there is no pod',
    installation: FROM_FILES,
    pods: [],
    source: { kind: 'files', secret: undefined },
  },
  {
    why: 'its own, if its Deployment was changed to files and its pods are still the earlier ones',
    installation: FROM_FILES,
    pods: [servingOwn],
    source: OWN,
  },
])('where its certificates are: $why', async ({ installation, pods, source }) => {
  const api = await startFakeApi(({ path }, response) => {
    if (path.endsWith('/services/taintkeeper')) return answer(response, { spec: { selector: { app: 'a' } } });
    if (path.endsWith('/pods') && pods) return answer(response, { metadata: { resourceVersion: '1' }, items: pods });
    return answer(response, refusal(403, 'Forbidden', `cannot read ${path}`), 403);
  });
  const facts = await gatherService((await clientFor(api.url)).client, installation);
  expect(facts.source).toEqual(source);
});
