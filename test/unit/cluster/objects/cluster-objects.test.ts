import { describe, expect, it } from 'vitest';
import { type ClusterNode, projectDaemonSet, projectNode } from '../../../../src/cluster/objects/cluster-objects.ts';
import { createCachedObjects, isNews } from '../../../../src/cluster/watch/cached-objects.ts';
import { MalformedObjectError } from '../../../../src/objects/object-schema.ts';

describe('of a Node', () => {
  const metadata = {
    name: 'n1',
    labels: { pool: 'gpu' },
    annotations: {
      'taintkeeper.dev/allow-removal': 'a:NoSchedule',
      other: 'x',
    },
  };
  const spec = { podCIDR: '10.0.0.0/24', taints: [{ key: 'a', effect: 'NoSchedule' }] };
  const status = (ready: string) => ({
    conditions: [
      { type: 'DiskPressure', status: 'False' },
      { type: 'Ready', status: ready },
    ],
  });

  it('only the fields that policies and controllers read are kept', () => {
    expect(
      projectNode({ metadata, spec, status: { ...status('True'), images: [], nodeInfo: { systemUUID: 'U' } } }),
    ).toEqual({
      name: 'n1',
      labels: metadata.labels,
      taints: spec.taints,
      allowRemoval: 'a:NoSchedule',
      ready: true,
      conditions: { DiskPressure: 'False', Ready: 'True' },
    });
  });

  it.each([
    {
      annotations: { 'cluster.x-k8s.io/cluster-name': 'c', 'cluster.x-k8s.io/cluster-namespace': 'ns' },
      cluster: 'ns/c',
    },
    { annotations: { 'cluster.x-k8s.io/cluster-name': 'c' }, cluster: undefined },
    {
      annotations: { 'cluster.x-k8s.io/cluster-name': 'c'.repeat(254), 'cluster.x-k8s.io/cluster-namespace': 'ns' },
      cluster: undefined,
    },
    { annotations: null, cluster: undefined },
  ])('the Cluster of Cluster API is kept: $cluster', ({ annotations, cluster }) => {
    expect(projectNode({ metadata: { name: 'n1', annotations } }).machineCluster).toBe(cluster);
  });

  it('a heartbeat is no news, but what is kept is', () => {
    const news: boolean[] = [];
    const objects = createCachedObjects<ClusterNode>({
      project: projectNode,
      onChange: (change) => news.push(isNews(change)),
      onUnreadable: () => {},
    });
    let version = 0;
    const seen = (object: { metadata: object; spec: object; status: object }) => {
      const identity = { uid: 'u', resourceVersion: String(++version) };
      objects.observed({ ...object, metadata: { ...object.metadata, ...identity } });
      return news.splice(0);
    };
    const beats = {
      ...status('True'),
      images: [],
      conditions: [...status('True').conditions, { type: 'PIDPressure' }],
    };
    expect(seen({ metadata, spec, status: status('True') })).toEqual([true]);
    expect(seen({ metadata, spec, status: beats })).toEqual([false]);
    expect(seen({ metadata, spec: {}, status: beats })).toEqual([true]);
    const longer = { ...metadata.annotations, other: 'as an agent writes with each heartbeat' };
    expect(seen({ metadata: { ...metadata, annotations: longer }, spec: {}, status: beats })).toEqual([false]);
    expect(seen({ metadata: { ...metadata, annotations: {} }, spec: {}, status: beats })).toEqual([true]);
    objects.retain(new Set());
    expect(news).toEqual([true]);
  });

  it.each<{ why: string; object: object; ready: boolean }>([
    { why: 'says so', object: { metadata, status: status('True') }, ready: true },
    { why: 'says the contrary', object: { metadata, status: status('False') }, ready: false },
    { why: 'is not heard of', object: { metadata, status: status('Unknown') }, ready: false },
    { why: 'has no status yet', object: { metadata }, ready: false },
    {
      why: 'is being deleted',
      object: { metadata: { ...metadata, deletionTimestamp: '2026-01-01T00:00:00Z' }, status: status('True') },
      ready: false,
    },
  ])('it is known whether it is ready: one that $why', ({ object, ready }) => {
    expect(projectNode(object)).toMatchObject({ taints: [], ready });
  });

  it.each([
    { ready: 'False', since: Date.UTC(2026, 0, 1) },
    { ready: 'Unknown', since: Date.UTC(2026, 0, 1) },
    { ready: 'True', since: undefined },
  ])('it is known since when it is not Ready: $ready', ({ ready, since }) => {
    const conditions = [{ type: 'Ready', status: ready, lastTransitionTime: '2026-01-01T00:00:00Z' }];
    expect(projectNode({ metadata, status: { conditions } }).unreadySince).toBe(since);
  });
});

describe('of a DaemonSet', () => {
  const template = { spec: { containers: [], nodeSelector: { pool: 'main' }, tolerations: [{ operator: 'Exists' }] } };

  it('only the fields that policies and controllers read are kept', () => {
    const daemonSet = {
      metadata: { name: 'cni', namespace: 'kube-system', generation: 3, labels: { app: 'cni' } },
      spec: { template, updateStrategy: { type: 'OnDelete' } },
      status: {
        observedGeneration: 2,
        desiredNumberScheduled: 7,
        currentNumberScheduled: 6,
        updatedNumberScheduled: 5,
        numberUnavailable: 1,
        numberReady: 6,
      },
    };
    expect(projectDaemonSet(daemonSet)).toMatchObject({
      namespace: 'kube-system',
      name: 'cni',
      labels: { app: 'cni' },
      tolerations: [{ operator: 'Exists' }],
      nodeSelector: { pool: 'main' },
      nodeAffinity: undefined,
      generation: 3,
      onDelete: true,
      status: { observedGeneration: 2, desired: 7, current: 6, updated: 5, unavailable: 1 },
    });
  });

  it('it is known when taintkeeper added tolerations, also if another writer changed it later', () => {
    const write = (manager: string, time: string, podSpec: object) => ({
      ...{ manager, operation: 'Update', time },
      fieldsV1: { 'f:spec': { 'f:template': { 'f:spec': podSpec } } },
    });
    const own = write('taintkeeper', '2026-01-01T00:00:00Z', { 'f:tolerations': {} });
    const later = write('helm', '2026-01-02T00:00:00Z', { 'f:containers': {} });
    const patchedAt = (managedFields?: readonly object[]) =>
      projectDaemonSet({ metadata: { name: 'cni', managedFields }, spec: { template } }).patchedAt;
    expect(patchedAt([own, later])).toBe(Date.UTC(2026, 0, 1));
    expect(patchedAt([later])).toBeUndefined();
    expect(patchedAt()).toBeUndefined();
  });

  it('the numbers are 0 as long as it has none', () => {
    expect(projectDaemonSet({ metadata: { name: 'cni' }, spec: { template } })).toMatchObject({
      generation: 0,
      onDelete: false,
      status: { observedGeneration: 0, desired: 0, current: 0, updated: 0, unavailable: 0 },
    });
  });
});

it.each<{ why: string; project: (object: unknown) => unknown; object: unknown }>([
  { why: 'a Node without metadata', project: projectNode, object: {} },
  { why: 'a Node whose taint has no key', project: projectNode, object: { metadata: {}, spec: { taints: [{}] } } },
  { why: 'a DaemonSet without a template', project: projectDaemonSet, object: { metadata: {}, spec: {} } },
])('what cannot be read is refused: $why', ({ project, object }) => {
  expect(() => project(object)).toThrow(MalformedObjectError);
});
