import { expect, it, onTestFinished, vi } from 'vitest';
import { watchFailedPods } from '../../../../src/controllers/recovery/failed-pods.ts';
import { captureLog } from '../../captured-log.ts';
import { answer, clientFor, startFakeApi } from '../../cluster/client/fake-api.ts';
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
