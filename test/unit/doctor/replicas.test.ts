import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { ApiClient } from '../../../src/cluster/client/api-client.ts';
import type { EndpointSlice } from '../../../src/cluster/endpoint-slices.ts';
import { isAlive, viewPod } from '../../../src/doctor/pod-view.ts';
import { known } from '../../../src/doctor/reading.ts';
import { listedReplicas, probeReplica } from '../../../src/doctor/replicas.ts';
import type { ServiceFacts } from '../../../src/doctor/service-facts.ts';
import type { PodObject } from '../../../src/objects/pod-object.ts';

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
    { args: ['--secret=ours'], is: { kind: 'secret', secret: 'ours' } },
    { args: ['--cert-dir=/certs'], is: { kind: 'files', secret: 'from-cert-manager' } },
    { args: ['--cert-dir=/elsewhere'], is: { kind: 'files', secret: undefined } },
    { args: [], is: undefined },
  ])('with $args has its certificates from there', ({ args, is }) => {
    expect(viewPod(podObject('a', args)).certificates).toEqual(is);
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
  const facts = (changes: Partial<ServiceFacts>): ServiceFacts => ({
    webhooks: known([{ name: 'w', clientConfig: { service: { namespace: 'n', name: 's', port: 443 } } }]),
    service: known({ spec: { type: 'ClusterIP', ports: [{ name: 'webhook', port: 443 }] } }),
    slices: known([]),
    pods: known([]),
    rejectedPods: new Map(),
    networkPolicies: known([]),
    source: { kind: 'secret', secret: 'x' },
    secret: known(undefined),
    ...changes,
  });

  it('are those behind the port that is called, and pods that nobody leads to', () => {
    const pods = ['a', 'b', 'c'].map((name) => viewPod(podObject(name)));
    const found = listedReplicas(facts({ slices: known([slice('a'), slice('b', false)]), pods: known(pods) }));
    expect(found.map(({ name, port, endpoint }) => ({ name, port, endpoint }))).toEqual([
      { name: 'a', port: 8443, endpoint: { port: 8443, isReady: true } },
      { name: 'b', port: 8443, endpoint: { port: 8443, isReady: false } },
      { name: 'c', port: 8443, endpoint: undefined },
    ]);
  });

  it('are addresses, where pods may not be seen', () => {
    const found = listedReplicas(
      facts({ slices: known([slice('a')]), pods: { ok: false, why: 'no right', status: 403 } }),
    );
    expect(found).toEqual([
      {
        name: '10.244.0.7:8443',
        address: '10.244.0.7',
        port: 8443,
        endpoint: { port: 8443, isReady: true },
        pod: undefined,
      },
    ]);
  });

  it('are somewhere else, where the Service is but a name', () => {
    const service = known({ spec: { type: 'ExternalName', externalName: 'localhost' } });
    expect(listedReplicas(facts({ service }))).toMatchObject([{ name: 'localhost', address: 'localhost', port: 443 }]);
  });
});

it('a port-forward that opens after its time limit is closed: it would keep the process alive', async () => {
  const limit = vi.spyOn(AbortSignal, 'timeout').mockReturnValue(AbortSignal.abort());
  onTestFinished(() => limit.mockRestore());
  const { promise, resolve } = Promise.withResolvers<object>();
  const closed = vi.fn();
  const replica = { name: 'a', address: '127.0.0.1', port: 1, endpoint: undefined, pod: viewPod(podObject('a')) };
  await probeReplica(replica, {
    client: { request: () => Promise.reject(new Error('not reached')) } as unknown as ApiClient,
    sockets: { connect: () => promise } as never,
    namespace: 'n',
    serverName: 's',
    recognise: (dialled) => dialled,
  });
  resolve({ close: closed, send() {} });
  await vi.waitFor(() => expect(closed).toHaveBeenCalledOnce());
});
