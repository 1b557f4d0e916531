import { expect, it, vi } from 'vitest';
import { watchInTurn } from '../../../../../src/controllers/nodes/startup/own-watch-turns.ts';
import { MAX_SINGLE_WATCHES } from '../../../../../src/controllers/nodes/startup/watches-by-node.ts';
import { watchedObjects } from '../watched-objects.ts';

it('a node is queued until it has a watch of its own', async () => {
  const api = watchedObjects();
  const onChange = vi.fn<(node: string) => void>();
  const turns = watchInTurn(api.run, {
    ...{ client: api.client, resource: 'startup-pods', path: '/api/v1/pods', onChange, endShared: () => {} },
    ...{ fieldSelector: (node: string) => `spec.nodeName=${node}`, project: () => null },
  });
  for (let index = 0; index < MAX_SINGLE_WATCHES; index++) turns.readOrWatch(`n${index}`);
  turns.queue('late');
  expect([turns.readOrWatch('late'), turns.isQueued('late')]).toEqual([undefined, true]);
  turns.end('n0');
  expect(onChange.mock.calls).toEqual([['late']]);
  expect([turns.readOrWatch('late'), turns.isQueued('late')]).toEqual(['Unread', false]);
  await turns.stop();
});
