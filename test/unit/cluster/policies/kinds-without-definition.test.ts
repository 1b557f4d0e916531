import { describe, expect, it, onTestFinished } from 'vitest';
import { watchPolicies } from '../../../../src/cluster/policies/policies.ts';
import {
  kindsMissingInGroup,
  kindsOfMissingGroup,
  readKindsWithoutDefinition,
} from '../../../../src/cluster/policies/policy-definitions.ts';
import { POLICY_API_PATH, POLICY_KINDS, POLICY_RESOURCES } from '../../../../src/cluster/policies/policy-paths.ts';
import { clusterPoliciesCheck } from '../../../../src/replica/readiness.ts';
import { captureLog } from '../../captured-log.ts';
import { eventually } from '../../eventually.ts';
import { answer, clientFor, type Handler, startFakeApi } from '../client/fake-api.ts';

const RESOURCES = Object.values(POLICY_RESOURCES);
const listOf = (names: readonly string[]) => ({ kind: 'APIResourceList', resources: names.map((name) => ({ name })) });
const plain404 = (response: Parameters<Handler>[1]) => void response.writeHead(404).end('404 page not found\n');

describe('discovery says', () => {
  it.each([
    { why: 'all are defined', found: listOf(RESOURCES), missing: [] },
    { why: 'subresources are no kinds', found: listOf([...RESOURCES, 'taintpolicies/status']), missing: [] },
    {
      why: 'one is not',
      found: listOf(RESOURCES.filter((one) => one !== 'recoverypolicies')),
      missing: ['RecoveryPolicy'],
    },
    { why: 'another version of the group is left', found: listOf([]), missing: POLICY_KINDS },
  ])('which kinds are missing in the group: $why', ({ found, missing }) => {
    expect(kindsMissingInGroup(found)).toEqual(missing);
  });

  it.each([
    { why: 'a Status', found: { kind: 'Status' } },
    { why: 'nothing', found: undefined },
    { why: 'a text', found: 'ok' },
  ])('nothing, if the answer is $why', ({ found }) => {
    expect(() => kindsMissingInGroup(found)).toThrow('no discovery document');
    expect(() => kindsOfMissingGroup(found)).toThrow('no discovery document');
  });

  it('all are missing without the group, and nothing if it lists a group that answers 404', () => {
    expect(kindsOfMissingGroup({ groups: [{ name: 'apps' }] })).toEqual(POLICY_KINDS);
    expect(() => kindsOfMissingGroup({ groups: [{ name: 'taintkeeper.dev' }] })).toThrow('no discovery document');
  });

  it('nothing, if a proxy answers 404 to everything', async () => {
    const api = await startFakeApi((_request, response) => plain404(response));
    const { client } = await clientFor(api.url);
    await expect(readKindsWithoutDefinition(client)).rejects.toThrow('GET /apis: 404');
  });
});

const groupsOf = (served: readonly string[]) =>
  ['apps', ...(served.length > 0 ? ['taintkeeper.dev'] : [])].map((name) => ({ name }));

/** A cluster with these kinds of policies. What is behind it can be replaced by a proxy that answers 404 to everything. */
async function clusterWith(...first: readonly string[]) {
  let served = first;
  let isProxy = false;
  const api = await startFakeApi(({ path, query }, response) => {
    if (isProxy) return plain404(response);
    if (path === POLICY_API_PATH) return served.length > 0 ? answer(response, listOf(served)) : plain404(response);
    if (path === '/apis') return answer(response, { kind: 'APIGroupList', groups: groupsOf(served) });
    const resource = path.slice(POLICY_API_PATH.length + 1);
    if (!served.includes(resource)) return plain404(response);
    if (query.watch) return response.flushHeaders();
    const items =
      resource === 'recoverypolicies'
        ? [
            {
              metadata: { name: 'r', uid: 'r', generation: 1, resourceVersion: '1' },
              spec: { daemonSets: { namespaces: ['*'] } },
            },
          ]
        : [];
    answer(response, { metadata: { resourceVersion: '1' }, items });
  });
  const { client } = await clientFor(api.url);
  const { log, lines } = captureLog();
  return {
    serve(...resources: readonly string[]) {
      served = resources;
    },
    setProxy(is: boolean) {
      isProxy = is;
    },
    watch() {
      const policies = watchPolicies({ client, audit: false, onState() {}, log });
      onTestFinished(async () => void (await policies.stop()));
      return policies;
    },
    logged: () => lines().map(({ msg }) => msg),
    received: api.received,
  };
}

describe('a kind without a definition', () => {
  it('has no policies, and does not keep the others from being in force; readiness names it', async () => {
    const cluster = await clusterWith(...RESOURCES.filter((one) => one !== 'recoverypolicies'));
    const policies = cluster.watch();
    await policies.synced;
    expect(policies.isSynced()).toBe(true);
    expect(policies.kindsWithoutDefinition()).toEqual(['RecoveryPolicy']);
    expect(clusterPoliciesCheck(policies, false)).toEqual({
      name: 'policies',
      state: 'degraded',
      detail: '0 in force; no CustomResourceDefinition recoverypolicies.taintkeeper.dev',
    });
    expect(cluster.logged()).toContain(
      'CustomResourceDefinition recoverypolicies.taintkeeper.dev does not exist: no RecoveryPolicy is in force',
    );

    cluster.serve(...RESOURCES);
    await eventually(() => expect(policies.snapshot().policies).toHaveLength(1));
    expect(clusterPoliciesCheck(policies, false)).toMatchObject({ state: 'ok', detail: '1 in force' });
  });

  it('is not assumed because a proxy answers 404: readiness says what was answered', async () => {
    const cluster = await clusterWith(...RESOURCES);
    cluster.setProxy(true);
    const policies = cluster.watch();
    await eventually(() => expect(cluster.received.some(({ path }) => path === '/apis')).toBe(true));
    expect(policies.isSynced()).toBe(false);
    expect(clusterPoliciesCheck(policies, false)).toMatchObject({
      state: 'failed',
      detail: expect.stringMatching(/^taintpolicies: GET \S+: 404.*; tolerationpolicies: GET /),
    });
    cluster.setProxy(false);
    await policies.synced;
    expect(policies.kindsWithoutDefinition()).toEqual([]);
  });
});
