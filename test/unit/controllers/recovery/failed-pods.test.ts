import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { type FailedPods, watchFailedPods } from '../../../../src/controllers/recovery/failed-pods.ts';
import { captureLog } from '../../captured-log.ts';
import { answer, clientFor, startFakeApi } from '../../cluster/client/fake-api.ts';
import { startFakeThings } from '../../cluster/watch/watched-things.ts';
import { eventually } from '../../eventually.ts';

const OWNER = { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'cni', uid: 'd', controller: true };

function failedPod(name: string, reason: string, owner: object = OWNER) {
  const metadata = { namespace: 'agents', name, uid: name, resourceVersion: '1', ownerReferences: [owner] };
  return { metadata, spec: { nodeName: 'n1' }, status: { phase: 'Failed', reason } };
}

it('of a Failed pod, a reason or an owner of any length is not kept', async () => {
  const items = [
    failedPod('ordinary', 'NodeShutdown'),
    failedPod('long-reason', 'x'.repeat(1_000_000)),
    failedPod('long-owner', 'NodeShutdown', { ...OWNER, name: 'x'.repeat(1_000_000) }),
  ];
  const api = await startFakeApi(({ query }, response) =>
    query.watch ? void response.flushHeaders() : answer(response, { metadata: { resourceVersion: '1' }, items }),
  );
  const { client } = await clientFor(api.url);
  const onState = vi.fn();
  const failed = watchFailedPods({ client, leftOut: '', onChange: () => {}, onState, log: captureLog().log });
  onTestFinished(() => failed.stop());
  await eventually(() => expect(onState).toHaveBeenCalledWith({ connected: true }));
  expect([...failed.all()].map(({ entry: { name, value } }) => [name, value.reason])).toEqual([
    ['ordinary', 'NodeShutdown'],
    ['long-reason', ''],
  ]);
});

describe('a Failed pod that changes', () => {
  const OTHER = { ...OWNER, name: 'agent', uid: 'e' };

  /** Sends versions of one pod, and waits until each has an effect. */
  async function start() {
    const things = await startFakeThings();
    const { client } = await clientFor(things.url);
    const onChange = vi.fn<(daemonSet: string) => void>();
    const failed = watchFailedPods({ client, leftOut: '', onChange, onState: () => {}, log: captureLog().log });
    onTestFinished(() => failed.stop());
    await eventually(() => expect(things.watches).toHaveLength(1));
    return {
      failed,
      async send(type: 'ADDED' | 'MODIFIED' | 'DELETED', owners: object[], changed: readonly string[]) {
        onChange.mockClear();
        const pod = failedPod('p', 'NodeShutdown');
        const metadata = { ...pod.metadata, ownerReferences: owners, resourceVersion: String(++things.version) };
        things.watches[0]?.send(type, { ...pod, metadata });
        await eventually(() => expect(onChange.mock.calls.flat()).toEqual(changed));
      },
    };
  }

  const tracked = ({ daemonSets, ofDaemonSet }: FailedPods) => ({
    all: [...daemonSets()],
    ofNode: [...daemonSets('n1')],
    pods: [...daemonSets()].map((key) => ofDaemonSet(key).length),
  });
  const NOTHING = { all: [], ofNode: [], pods: [] };

  it('no longer counts once no DaemonSet controls it', async () => {
    const { failed, send } = await start();
    await send('ADDED', [OWNER], ['agents/cni']);
    expect(tracked(failed)).toEqual({ all: ['agents/cni'], ofNode: ['agents/cni'], pods: [1] });
    await send('MODIFIED', [], ['agents/cni']);
    expect(tracked(failed)).toEqual(NOTHING);
  });

  it('counts for the DaemonSet that controls it now, until it is deleted', async () => {
    const { failed, send } = await start();
    await send('ADDED', [OWNER], ['agents/cni']);
    await send('MODIFIED', [OTHER], ['agents/cni', 'agents/agent']);
    expect(tracked(failed)).toEqual({ all: ['agents/agent'], ofNode: ['agents/agent'], pods: [1] });
    await send('DELETED', [OTHER], ['agents/agent']);
    expect(tracked(failed)).toEqual(NOTHING);
  });

  it('keeps what was observed of it', async () => {
    const { failed, send } = await start();
    await send('ADDED', [OWNER], ['agents/cni']);
    const [before] = failed.all();
    await send('MODIFIED', [{ ...OWNER, uid: 'd2' }], ['agents/cni']);
    const [after] = failed.all();
    expect(after).toBe(before);
    expect(after?.entry.value.daemonSet.uid).toBe('d2');
  });
});
