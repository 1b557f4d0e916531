import { describe, expect, it, vi } from 'vitest';
import { perNode } from '../../../../../src/controllers/nodes/per-node.ts';
import { watchCsiNodes } from '../../../../../src/controllers/nodes/startup/csi-nodes.ts';
import { MAX_SINGLE_WATCHES } from '../../../../../src/controllers/nodes/startup/watches-by-node.ts';
import { watchedObjects } from '../watched-objects.ts';

const PATH = '/apis/storage.k8s.io/v1/csinodes';
const csiNode = (name: string, ...drivers: string[]) => ({
  metadata: { name, ownerReferences: [{ kind: 'Node', uid: `${name}-uid` }] },
  spec: { drivers: drivers.map((driver) => ({ name: driver })) },
});
const view = (name: string, ...drivers: string[]) => ({ value: { owner: `${name}-uid`, drivers } });

function start() {
  const api = watchedObjects();
  const onChange = vi.fn<(node: string) => void>();
  const csiNodes = watchCsiNodes(api.run, api.client, perNode(), onChange);
  return {
    api,
    onChange,
    /** Takes a step of the node that reads its CSINode. */
    read(name: string) {
      const step = csiNodes.beginStep(name);
      const found = step.read();
      step.endStep();
      return found;
    },
    /** Takes one that does not. */
    end: (name: string) => csiNodes.beginStep(name).endStep(),
    stop: csiNodes.stop,
  };
}

const names = Array.from({ length: MAX_SINGLE_WATCHES }, (_, index) => `n${index}`);

describe('the CSINode of a node', () => {
  it('is watched alone, from the first question until the node no longer waits', async () => {
    const { api, onChange, read, end, stop } = start();
    api.put(csiNode('n1'));
    api.put(csiNode('n2', 'ebs'));
    expect(read('n1')).toBe('Unread');
    await expect.poll(() => onChange.mock.calls).toEqual([['n1']]);
    expect(read('n1')).toEqual(view('n1'));
    expect(api.requests).toEqual([`STREAM ${PATH}?metadata.name=n1`]);
    api.put(csiNode('n1', 'ebs'));
    await expect.poll(() => onChange.mock.calls).toHaveLength(2);
    expect(read('n1')).toEqual(view('n1', 'ebs'));
    api.remove(csiNode('n1'));
    await expect.poll(() => onChange.mock.calls).toHaveLength(3);
    expect(read('n1')).toEqual({ value: undefined });
    end('n1');
    await expect.poll(api.watching).toBe(0);
    await stop();
  });

  it('that the API server does not let us list is refused, until it does', async () => {
    const { api, onChange, read, stop } = start();
    api.put(csiNode('n1', 'ebs'));
    api.refuse(403);
    expect(read('n1')).toBe('Unread');
    await expect.poll(() => onChange.mock.calls).toHaveLength(1);
    expect(read('n1')).toBe('NotPermitted');
    api.refuse(undefined);
    await expect.poll(() => read('n1')).toEqual(view('n1', 'ebs'));
    await stop();
  });

  it('is refused also to nodes that share a watch', async () => {
    const { api, onChange, read, stop } = start();
    for (const name of names) read(name);
    await expect.poll(api.watching).toBe(MAX_SINGLE_WATCHES);
    api.refuse(403);
    expect(read('late')).toBe('Unread');
    await expect.poll(() => onChange.mock.calls.flat()).toContain('late');
    expect(read('late')).toBe('NotPermitted');
    await stop();
  });

  it('that cannot be listed for another reason has not been read yet', async () => {
    const { api, read, stop } = start();
    api.refuse(500);
    read('n1');
    await expect.poll(() => api.requests.length).toBeGreaterThan(1);
    expect(read('n1')).toBe('Unread');
    await stop();
  });

  it('shares one watch with others while too many nodes wait', async () => {
    const { api, onChange, read, end, stop } = start();
    api.put(csiNode('late', 'ebs'));
    for (const name of names) read(name);
    expect(read('late')).toBe('Unread');
    await expect.poll(() => onChange.mock.calls.flat()).toContain('late');
    expect(read('late')).toEqual(view('late', 'ebs'));
    expect(read('later')).toEqual({ value: undefined });
    expect(api.requests.filter((one) => one.startsWith('LIST') && !one.includes('metadata.name'))).toHaveLength(1);
    await expect.poll(api.watching).toBe(MAX_SINGLE_WATCHES + 1);
    end('late');
    end('later');
    await expect.poll(api.watching).toBe(MAX_SINGLE_WATCHES);
    end('n0');
    read('later');
    await expect.poll(() => api.requests.filter((one) => one.includes('metadata.name=later'))).toHaveLength(1);
    await stop();
    expect(api.watching()).toBe(0);
  });
});
