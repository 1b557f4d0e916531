import { describe, expect, it } from 'vitest';
import { findIn, forwardText, readForward } from '../../control-plane/kubelets/forwards.ts';
import { type NodeStatus, nodeReport } from '../../control-plane/kubelets/node-report.ts';
import { podTask } from '../../control-plane/kubelets/pod-report.ts';
import { hasKubelet, WITH_KUBELET } from '../../control-plane/kubelets/with-kubelet.ts';

const NOW = '2026-01-02T03:04:05.000Z';

describe('which nodes have a kubelet', () => {
  it.each([
    { annotations: WITH_KUBELET, expected: true },
    { annotations: { ...WITH_KUBELET, other: '' }, expected: true },
    { annotations: Object.fromEntries(Object.keys(WITH_KUBELET).map((name) => [name, 'false'])), expected: false },
    { annotations: {}, expected: false },
    { annotations: undefined, expected: false },
  ])('$annotations: $expected', ({ annotations, expected }) => expect(hasKubelet(annotations)).toBe(expected));
});

describe('what is reported of a node', () => {
  const report = (status?: NodeStatus) => nodeReport('w1', status, NOW) as Required<NodeStatus> | undefined;
  const conditionsOf = (status?: NodeStatus) =>
    report(status)?.conditions.map(({ type, status }) => `${type}=${status}`);
  const others = ['MemoryPressure=False', 'DiskPressure=False', 'PIDPressure=False', 'NetworkUnavailable=False'];

  it('all, where nobody has reported anything', () => {
    expect(conditionsOf()).toEqual(['Ready=True', ...others]);
    expect(Object.keys(report() ?? {})).toEqual(['conditions', 'addresses', 'capacity', 'allocatable', 'nodeInfo']);
    expect(report()?.conditions[0]).toMatchObject({ lastHeartbeatTime: NOW, lastTransitionTime: NOW });
  });

  it('nothing, where it is Ready', () => {
    expect(report({ conditions: [{ type: 'Ready', status: 'True' }] })).toBeUndefined();
  });

  it('all conditions anew, where the node controller has made them Unknown', () => {
    const conditions = ['Ready', ...others.map((each) => each.replace('=False', ''))];
    const unknown = conditions.map((type) => ({ type, status: 'Unknown' }));
    expect(conditionsOf({ conditions: unknown })).toEqual(['Ready=True', ...others]);
  });

  it('no condition that somebody else has reported, but for Ready', () => {
    const conditions = ['Ready', 'NetworkUnavailable'].map((type) => ({ type, status: 'False' }));
    expect(conditionsOf({ conditions })).toEqual(['Ready=True', ...others.slice(0, 3)]);
  });

  it('nothing that stands there already', () => {
    const status = { addresses: [{}], capacity: {}, allocatable: {}, nodeInfo: { kubeletVersion: 'v1' } };
    expect(Object.keys(report(status) ?? {})).toEqual(['conditions']);
    // The API server writes these fields always.
    expect(report({ ...status, nodeInfo: { kubeletVersion: '' } })).toHaveProperty('nodeInfo');
  });
});

describe('what is done with a pod', () => {
  it.each([
    { phase: 'Pending', deleted: false, kind: 'run' },
    { phase: 'Running', deleted: false, kind: 'nothing' },
    { phase: 'Failed', deleted: false, kind: 'nothing' },
    { phase: 'Succeeded', deleted: false, kind: 'nothing' },
    { phase: 'Pending', deleted: true, kind: 'remove' },
    { phase: 'Running', deleted: true, kind: 'remove' },
    { phase: 'Failed', deleted: true, kind: 'remove' },
  ])('$phase, deleted: $deleted: $kind', ({ phase, deleted, kind }) => {
    const metadata = deleted ? { deletionTimestamp: NOW } : {};
    expect(podTask({ metadata, spec: { nodeName: 'w1', containers: [] }, status: { phase } }).kind).toBe(kind);
  });
});

describe('forwarded ports', () => {
  const forward = { namespace: 'default', pod: 'pod-1.example', port: 8080, target: 34567 };

  it('are found by namespace, pod and port', () => {
    const targetOf = findIn([forward, { ...forward, port: 8443, target: 1 }]);
    expect(targetOf(forward)).toBe(34567);
    expect(targetOf({ ...forward, port: 8443 })).toBe(1);
    for (const other of [{ namespace: 'other' }, { pod: 'pod-2' }, { port: 80 }]) {
      expect(targetOf({ ...forward, ...other })).toBeUndefined();
    }
  });

  it('are read as they were written', () => expect(readForward(forwardText(forward))).toEqual(forward));

  it.each(['', 'default/pod-1', 'pod-1:80=81', 'default/pod-1:80=', 'default/pod-1:http=81'])(
    'are not read from "%s"',
    (text) => expect(() => readForward(text)).toThrow('is not NAMESPACE/POD:PORT=TARGET'),
  );
});
