import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { ApiClient } from '../../../../src/cluster/client/api-client.ts';
import type { Endpoint, EndpointSlice } from '../../../../src/cluster/installation/endpoint-slices.ts';
import { certificateSource } from '../../../../src/doctor/facts/certificate-source.ts';
import type { InstallationFacts } from '../../../../src/doctor/facts/installation-facts.ts';
import { listedReplicas } from '../../../../src/doctor/facts/listed-replicas.ts';
import { isAlive, type PodView, viewPod } from '../../../../src/doctor/facts/pod-view.ts';
import { failedReading, readingOf } from '../../../../src/doctor/facts/reading.ts';
import { type ProbeOptions, probeReplica } from '../../../../src/doctor/facts/replica-facts.ts';
import type { PodObject } from '../../../../src/objects/pod-object.ts';
import { eventually } from '../../eventually.ts';
import { startEchoingWebhook } from '../../webhooks/echoing-webhook.ts';
import { certificates } from '../facts.ts';

const its = await certificates();

function podObject(name: string, args: string[] = [], status: PodObject['status'] = {}): PodObject {
  return {
    metadata: { name },
    spec: {
      containers: [
        {
          args: ['serve', ...args],
          ports: [{ name: 'webhook', containerPort: 8443 }],
          volumeMounts: [{ name: 'certs', mountPath: '/certs' }],
        },
      ],
      volumes: [{ name: 'certs', secret: { secretName: 'from-cert-manager' } }],
    },
    status: { podIP: '10.244.0.7', ...status },
  };
}

describe('a pod', () => {
  it.each([
    { args: ['--cert-dir=/certs'], is: { kind: 'files', secret: 'from-cert-manager' } },
    { args: ['--cert-dir=/elsewhere'], is: { kind: 'files', secret: undefined } },
    { args: [], is: { kind: 'secret', secret: 'taintkeeper-certs' } },
  ])('with $args has its certificates from there', ({ args, is }) => {
    expect(certificateSource(podObject('a', args).spec)).toEqual(is);
  });

  it.each(['../../../../nodes', 'a; reboot', ''])('takes no name of a Secret that is none: %j', (secretName) => {
    const mounted = podObject('a', ['--cert-dir=/certs']);
    const volumes = [{ name: 'certs', secret: { secretName } }];
    expect(certificateSource({ ...mounted.spec, volumes })).toEqual({ kind: 'files' });
  });

  it('says why it does not run', () => {
    const containerStatuses = [{ restartCount: 7, state: { waiting: { reason: 'CrashLoopBackOff' } } }];
    expect(viewPod(podObject('a', [], { containerStatuses })).problem).toBe('CrashLoopBackOff, restarted 7 times');
    const conditions = [{ type: 'PodScheduled', status: 'False', message: '0/3 nodes are available' }];
    expect(viewPod(podObject('a', [], { conditions })).problem).toBe('0/3 nodes are available');
  });

  it.each([
    { reason: 'ErrImagePull', cannotStart: 'image' },
    { reason: 'ImagePullBackOff', cannotStart: 'image' },
    { reason: 'CrashLoopBackOff', cannotStart: 'crash' },
    { reason: 'CreateContainerConfigError', cannotStart: 'configuration' },
    { reason: 'ContainerCreating', cannotStart: undefined },
  ])('that waits for $reason has a reason not to start: $cannotStart', ({ reason, cannotStart }) => {
    expect(viewPod(podObject('a', [], { containerStatuses: [{ state: { waiting: { reason } } }] })).cannotStart).toBe(
      cannotStart,
    );
  });

  it('that no node takes does not start either', () => {
    const conditions = [{ type: 'PodScheduled', status: 'False', message: '0/3 nodes are available' }];
    expect(viewPod(podObject('a', [], { conditions })).cannotStart).toBe('unscheduled');
  });

  it('that has ended, or is about to, is no replica', () => {
    expect(isAlive(podObject('a'))).toBe(true);
    expect(isAlive(podObject('a', [], { phase: 'Failed' }))).toBe(false);
    expect(isAlive({ metadata: { name: 'a', deletionTimestamp: '2026-06-01T12:00:00Z' } })).toBe(false);
  });
});

const facts = (changes: Partial<InstallationFacts>): InstallationFacts => ({
  webhooks: readingOf([{ name: 'w', clientConfig: { service: { namespace: 'n', name: 's', port: 443 } } }]),
  service: readingOf({ spec: { type: 'ClusterIP', ports: [{ name: 'webhook', port: 443 }] } }),
  slices: readingOf([]),
  pods: readingOf([]),
  rejectedPods: new Map(),
  networkPolicies: readingOf([]),
  certificateSource: { kind: 'secret', secret: 'x' },
  secret: readingOf(undefined),
  pendingCertificates: undefined,
  ...changes,
});

describe('replicas', () => {
  const slice = (name: string, ready?: boolean): EndpointSlice => ({
    ports: [
      { name: 'metrics', port: 8080 },
      { name: 'webhook', port: 8443 },
    ],
    endpoints: [
      { addresses: ['10.244.0.7'], conditions: ready === undefined ? {} : { ready }, targetRef: { kind: 'Pod', name } },
    ],
  });
  it('are the endpoints of the port that the API server calls, and pods that no EndpointSlice lists', () => {
    const pods = ['a', 'b', 'c'].map((name) => viewPod(podObject(name)));
    const found = listedReplicas(facts({ slices: readingOf([slice('a'), slice('b', false)]), pods: readingOf(pods) }));
    expect(found.map(({ name, port, endpoint }) => ({ name, port, endpoint }))).toEqual([
      { name: 'a', port: 8443, endpoint: { port: 8443, isReady: true } },
      { name: 'b', port: 8443, endpoint: { port: 8443, isReady: false } },
      { name: 'c', port: 8443, endpoint: undefined },
    ]);
  });

  it('are what the slices name, where pods may not be seen', () => {
    const found = listedReplicas(
      facts({ slices: readingOf([slice('a')]), pods: { ok: false, why: 'no right', status: 403 } }),
    );
    expect(found).toEqual([
      {
        name: 'a',
        podName: 'a',
        addresses: ['10.244.0.7'],
        port: 8443,
        endpoint: { port: 8443, isReady: true },
        pod: undefined,
      },
    ]);
  });

  it('are somewhere else, where the Service is but a name', () => {
    const service = readingOf({ spec: { type: 'ExternalName', externalName: 'localhost' } });
    expect(listedReplicas(facts({ service }))).toMatchObject([
      { name: 'localhost', podName: undefined, addresses: ['localhost'], port: 443 },
    ]);
  });
});

const OPTIONS: ProbeOptions = {
  client: { request: () => Promise.reject(new Error('not reached')) } as unknown as ApiClient,
  sockets: { connect: () => Promise.reject(new Error('not reached')) } as never,
  namespace: 'n',
  serverName: 's',
  recognise: (dialled) => dialled,
};

describe('of a dual-stack Service', () => {
  const ofFamily = (address: string, ready: boolean, targetRef?: Endpoint['targetRef']): EndpointSlice => ({
    ports: [{ name: 'webhook', port: 8443 }],
    endpoints: [{ addresses: [address], conditions: { ready }, ...(targetRef ? { targetRef } : {}) }],
  });
  const targetRef = { kind: 'Pod', name: 'a', uid: 'u' };

  it.each([
    { what: 'a pod is one replica, its primary address first', pods: readingOf([viewPod(podObject('a'))]) },
    { what: 'a pod that may not be seen is one replica', pods: failedReading('no right') },
  ])('$what', ({ pods }) => {
    const slices = readingOf([ofFamily('fd00::7', false, targetRef), ofFamily('10.244.0.7', true, targetRef)]);
    const found = listedReplicas(facts({ slices, pods }));
    expect(found).toMatchObject([{ name: 'a', podName: 'a', endpoint: { port: 8443, isReady: true } }]);
    expect(found[0]?.addresses).toEqual(pods.ok ? ['10.244.0.7', 'fd00::7'] : ['fd00::7', '10.244.0.7']);
  });

  it('an earlier pod of the same name is another replica', () => {
    const earlier = { ...targetRef, uid: 'earlier' };
    const slices = readingOf([ofFamily('10.244.0.6', false, earlier), ofFamily('10.244.0.7', true, targetRef)]);
    expect(listedReplicas(facts({ slices }))).toHaveLength(2);
  });

  it.each([
    { what: 'without a pod', target: undefined },
    { what: 'whose pod has no valid name', target: { kind: 'Pod', name: 'a; reboot' } },
  ])('an address $what is called by it, and is not the name of a pod', ({ target }) => {
    const slices = readingOf([ofFamily('fd00::7', true, target)]);
    expect(listedReplicas(facts({ slices }))).toMatchObject([{ name: '[fd00::7]:8443', podName: undefined }]);
  });

  it('an address family to which there is no route does not count if the other answers', async () => {
    const port = await startEchoingWebhook(its.serving);
    const replica = { name: 'a', podName: 'a', port, endpoint: undefined, pod: undefined };
    const called = await probeReplica({ ...replica, addresses: ['::ffff:127.0.0.2', '127.0.0.1'] }, OPTIONS);
    expect(called).toMatchObject({ address: '127.0.0.1', dialled: { outcome: 'greeted' }, way: 'direct' });
  });
});

it('a port-forward that opens after its time limit is closed: it would keep the process alive', async () => {
  const limit = vi.spyOn(AbortSignal, 'timeout').mockReturnValue(AbortSignal.abort());
  onTestFinished(() => limit.mockRestore());
  const { promise, resolve } = Promise.withResolvers<object>();
  const closed = vi.fn();
  await probeReplica(
    { name: 'a', podName: 'a', addresses: ['127.0.0.1'], port: 1, endpoint: undefined, pod: viewPod(podObject('a')) },
    { ...OPTIONS, sockets: { connect: () => promise } as never },
  );
  resolve({ close: closed, send() {} });
  await eventually(() => expect(closed).toHaveBeenCalledOnce());
});

describe('the pods of the CNI on the node of a replica', () => {
  const mounting = (name: string, path: string, changes: object = {}, readOnly = false) => ({
    metadata: { namespace: 'kube-flannel', name },
    spec: {
      nodeName: 'w-1',
      volumes: [{ name: 'v', hostPath: { path } }],
      containers: [{ name: 'main' }],
      initContainers: [{ name: 'install-cni', volumeMounts: [{ name: 'v', readOnly }] }],
    },
    status: { conditions: [{ type: 'Ready', status: 'True' }] },
    ...changes,
  });
  const ITEMS = [
    mounting('flannel', '/etc/cni/net.d'),
    mounting('broken', '/opt/cni/bin', { status: {} }),
    mounting('reader', '/etc/cni/net.d', {}, true),
    mounting('device-plugin', '/var/lib/kubelet/device-plugins'),
    mounting('ended', '/opt/cni/bin', { status: { phase: 'Failed' } }),
  ];

  async function probe(answered: string, pod: Partial<PodView> = {}) {
    const asked: string[] = [];
    const request = async (_method: string, path: string, { query }: { query?: { fieldSelector?: string } } = {}) => {
      if (path !== '/api/v1/pods') throw new Error(answered);
      asked.push(query?.fieldSelector ?? '');
      return { metadata: { resourceVersion: '1' }, items: [...ITEMS] };
    };
    const viewed = { ...viewPod(podObject('a')), node: 'w-1', ...pod };
    const called = await probeReplica(
      { name: 'a', podName: 'a', addresses: ['127.0.0.1'], port: 1, endpoint: undefined, pod: viewed },
      { ...OPTIONS, client: { request } as unknown as ApiClient },
    );
    return { asked, cniPods: called.cniPods };
  }

  it.each(['no answer within 3000 ms', 'dial tcp 10.244.1.7:8443: connect: no route to host'])(
    'are read if the API server does not reach it: %s',
    async (message) => {
      expect(await probe(message)).toEqual({
        asked: ['spec.nodeName=w-1'],
        cniPods: readingOf([
          { namespace: 'kube-flannel', name: 'flannel', isReady: true },
          { namespace: 'kube-flannel', name: 'broken', isReady: false },
        ]),
      });
    },
  );

  it.each<{ why: string; message: string; pod?: Partial<PodView> }>([
    { why: 'the network brought an answer', message: 'dial tcp 10.244.1.7:8443: connect: connection refused' },
    {
      why: 'the replica is in the network of the node',
      message: 'no answer within 3000 ms',
      pod: { hostNetwork: true },
    },
    { why: 'the replica has no node', message: 'no answer within 3000 ms', pod: { node: '' } },
  ])('do not matter if $why', async ({ message, pod }) => {
    expect(await probe(message, pod)).toEqual({ asked: [], cniPods: undefined });
  });
});
