import { expect, it } from 'vitest';
import { watchLease } from '../../../../src/doctor/facts/watch-lease.ts';
import { LONGEST_WAIT_MS } from '../../../longest-wait.ts';
import { absentStatus } from '../../cluster/client/absent.ts';
import { answer, clientFor, startFakeApi } from '../../cluster/client/fake-api.ts';

const PLACE = { namespace: 'taintkeeper' };
const lease = (resourceVersion: number, holderIdentity: string) => ({
  metadata: { resourceVersion: String(resourceVersion) },
  spec: { holderIdentity, renewTime: '2001-01-01T00:00:00.000000Z' },
});

/** What an API server answers, one after the other; the last answer stays. Undefined: not found. */
async function watch(answers: readonly (object | undefined)[], watchMs = LONGEST_WAIT_MS) {
  let next = 0;
  const api = await startFakeApi(({ path }, response) => {
    const body = answers[Math.min(next++, answers.length - 1)];
    answer(response, body ?? absentStatus(path), body ? 200 : 404);
  });
  const { client } = await clientFor(api.url);
  return { seen: await watchLease(client, PLACE, { watchMs }), asked: () => api.received.length };
}

it('one that changes is renewed, whatever its times say, and doctor stops waiting', async () => {
  const { seen, asked } = await watch([lease(1, 'tk-0'), lease(1, 'tk-0'), lease(2, 'tk-0'), undefined]);
  expect(seen).toMatchObject({ holder: 'tk-0', renewed: true });
  expect(asked()).toBe(3);
});

it('one that another replica takes is renewed', async () => {
  expect((await watch([lease(1, ''), lease(2, 'tk-1')])).seen).toMatchObject({ holder: 'tk-1', renewed: true });
  expect((await watch([undefined, lease(2, 'tk-1')])).seen).toMatchObject({ holder: 'tk-1', renewed: true });
});

it.each([
  { what: 'does not change', answers: [lease(1, 'tk-0')], holder: 'tk-0' },
  { what: 'is given up meanwhile', answers: [lease(1, 'tk-0'), lease(2, '')], holder: '' },
  { what: 'is not there', answers: [undefined], holder: undefined },
])('one that $what is not renewed', async ({ answers, holder }) => {
  expect((await watch(answers, 600)).seen).toMatchObject({ holder, renewed: false });
});
