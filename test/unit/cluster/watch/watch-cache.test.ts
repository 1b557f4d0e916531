import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { watchResource } from '../../../../src/cluster/watch/watch-cache.ts';
import type { WatchOptions } from '../../../../src/cluster/watch/watch-options.ts';
import { captureLog } from '../../captured-log.ts';
import { eventually } from '../../eventually.ts';
import { stopClock } from '../../stopped-clock.ts';
import { clientFor } from '../client/fake-api.ts';
import { PATH, refuse, startFakeThings, watchNumber, watchThings } from './watched-things.ts';

async function threeThings() {
  const things = await startFakeThings();
  for (const name of ['a', 'b', 'c']) things.set(name, `${name}1`, 'old');
  return things;
}

/** With the first list done and the first watch open. */
async function watched(options: Parameters<typeof watchThings>[1] = {}) {
  const things = await threeThings();
  const watching = await watchThings(things, options);
  await watching.cache.synced;
  const watch = await watchNumber(things, 1);
  watching.takeChanges();
  return { things, watch, ...watching };
}

describe('the first list', () => {
  it('is read page by page, and the watch goes on from its version', async () => {
    const things = await threeThings();
    const { cache, takeChanges, states } = await watchThings(things, { fieldSelector: 'x=y', labelSelector: 'l' });
    expect(cache.lastCurrent()).toBeUndefined();
    expect(cache.isSynced()).toBe(false);
    await cache.synced;
    expect(cache.isSynced()).toBe(true);
    expect(takeChanges()).toEqual(['added a=old', 'added b=old', 'added c=old']);
    expect(cache.get('b')).toMatchObject({ uid: 'b1', resourceVersion: '102', value: 'old' });
    expect(cache.lastCurrent()).toBeGreaterThan(Date.now() - 5_000);
    expect(states).toEqual([{ connected: true }]);
    const selectors = { fieldSelector: 'x=y', labelSelector: 'l' };
    expect(things.lists()).toEqual([
      { ...selectors, limit: '2' },
      { ...selectors, limit: '2', continue: '2' },
    ]);
    const { query } = await watchNumber(things, 1);
    expect(query).toMatchObject({ ...selectors, watch: 'true', allowWatchBookmarks: 'true', resourceVersion: '103' });
    expect(Number(query.timeoutSeconds)).toBeGreaterThanOrEqual(24);
    expect(Number(query.timeoutSeconds)).toBeLessThanOrEqual(30);
  });

  it('starts over when its rest has expired, and does not tell twice what it has told', async () => {
    const things = await threeThings();
    let expired = 0;
    things.instead = ({ query }, response) => {
      if (!query.continue || expired > 0) return false;
      expired++;
      response.writeHead(410).end('{"reason":"Expired"}');
      return true;
    };
    const { cache, takeChanges, logged } = await watchThings(things);
    await cache.synced;
    expect(things.lists().map((query) => query.continue)).toEqual([undefined, '2', undefined, '2']);
    expect(takeChanges()).toEqual(['added a=old', 'added b=old', 'added c=old']);
    expect(logged()).toEqual([]);
  });

  it('whose rest is read in a newer state leads to a watch from that state, and soon to another list', async () => {
    const things = await threeThings();
    let expired = 0;
    things.instead = ({ query }, response) => {
      if (!query.continue || expired > 0) return false;
      expired++;
      // Meanwhile.
      things.set('a', 'a1', 'missed');
      response.writeHead(410).end(JSON.stringify({ reason: 'Expired', metadata: { continue: '2' } }));
      return true;
    };
    const { cache, values } = await watchThings(things);
    await cache.synced;
    expect(values()).toEqual({ a: 'old', b: 'old', c: 'old' });
    const watch = await watchNumber(things, 1);
    expect(watch.query.resourceVersion).toBe('104');
    // The client has the watch: one that ends as soon as it began is a failure, after which a list is not due.
    watch.send('MODIFIED', things.set('b', 'b1', 'old'));
    await eventually(() => expect(cache.get('b')?.resourceVersion).toBe('105'));
    const now = performance.now.bind(performance);
    vi.spyOn(performance, 'now').mockImplementation(() => now() + 61_000);
    onTestFinished(() => void vi.restoreAllMocks());
    watch.end();
    await eventually(() => expect(values()).toEqual({ a: 'missed', b: 'old', c: 'old' }));
  });

  it('that was never complete makes synced reject when stopped', async () => {
    const things = await startFakeThings();
    refuse(things, 'all', [500, 'InternalError']);
    const { cache } = await watchThings(things);
    await eventually(() => expect(things.requests().length).toBeGreaterThan(1));
    await cache.stop();
    await expect(cache.synced).rejects.toThrow(`watching ${PATH} was stopped before its first list was complete`);
  });
});

describe('events', () => {
  it('change the cache in order, each once', async () => {
    const { things, watch, takeChanges, values } = await watched();
    watch.send('ADDED', things.set('d', 'd1', 'new'));
    const changed = things.set('a', 'a1', 'new');
    watch.send('MODIFIED', changed);
    watch.send('MODIFIED', changed);
    watch.send('DELETED', things.delete('b'));
    watch.send('ADDED', things.set('b', 'b2', 'other'));
    watch.send('BOOKMARK', { metadata: { resourceVersion: String(++things.version) } });
    await eventually(() => expect(values()).toEqual({ a: 'new', b: 'other', c: 'old', d: 'new' }));
    expect(takeChanges()).toEqual(['added d=new', 'modified a=new', 'deleted b=old', 'added b=other']);
  });

  it('keep lastCurrent current, bookmarks and orderly ends too', async () => {
    const { things, watch, cache } = await watched();
    for (const happen of [
      () => watch.send('MODIFIED', things.set('a', 'a1', 'new')),
      () => watch.send('BOOKMARK', { metadata: { resourceVersion: '500' } }),
      () => watch.end(),
    ]) {
      const before = cache.lastCurrent() ?? 0;
      await eventually(() => expect(Date.now()).toBeGreaterThan(before));
      happen();
      await eventually(() => expect(cache.lastCurrent()).toBeGreaterThan(before));
    }
  });

  it('whose object cannot be read are logged once, and leave what was last read', async () => {
    const { things, watch, values, logged } = await watched();
    watch.send('MODIFIED', things.set('a', 'a1', 'unreadable'));
    watch.send('MODIFIED', things.set('a', 'a1', 'unreadable'));
    watch.send('MODIFIED', things.set('b', 'b1', 'new'));
    await eventually(() => expect(values()).toEqual({ a: 'old', b: 'new', c: 'old' }));
    const unreadable = `cannot read a of ${PATH}; what was last read of it stays`;
    expect(logged()).toEqual([unreadable]);
    watch.send('MODIFIED', things.set('a', 'a1', 'newer'));
    await eventually(() => expect(values().a).toBe('newer'));
    watch.send('MODIFIED', things.set('a', 'a1', 'unreadable'));
    await eventually(() => expect(logged()).toEqual([unreadable, unreadable]));
  });

  it('go on when a callback throws', async () => {
    const { things, watch, values, logged } = await watched({
      onChange() {
        throw new Error('broken listener');
      },
      onState() {
        throw new Error('broken listener');
      },
    });
    watch.send('MODIFIED', things.set('a', 'a1', 'new'));
    await eventually(() => expect(values().a).toBe('new'));
    expect(logged()).toContain(`onChange of ${PATH} failed`);
    expect(logged()).toContain(`onState of ${PATH} failed`);
    expect(things.watches).toHaveLength(1);
  });
});

describe('a watch that ends', () => {
  it('in good order is followed by the next, from the last version that was seen', async () => {
    const { things, watch, states } = await watched({ timings: { watchMs: 1_000 } });
    watch.send('BOOKMARK', { metadata: { resourceVersion: '500' } });
    watch.end();
    expect((await watchNumber(things, 2)).query.resourceVersion).toBe('500');
    expect(things.lists()).toHaveLength(2);
    expect(states).toEqual([{ connected: true }]);
  });

  it('as soon as it began is not begun again and again without a pause', async () => {
    const { things } = await watched({ timings: { backOffMinMs: 20, backOffMaxMs: 80 } });
    things.watches[0]?.end();
    const began = performance.now();
    for (let count = 2; count <= 5; count++) (await watchNumber(things, count)).end();
    // Four pauses of at least half of 20, 40, 80 and 80 ms.
    expect(performance.now() - began).toBeGreaterThan(110);
  });

  it('after it brought something is soon followed by the next, however often', async () => {
    const { things, values } = await watched({ timings: { backOffMinMs: 20, backOffMaxMs: 600_000 } });
    // Doubled each time, the pauses alone would be ten minutes, and this test would not end in its time.
    for (let count = 1; count <= 16; count++) {
      const watch = await watchNumber(things, count);
      watch.send('MODIFIED', things.set('a', 'a1', String(count)));
      await eventually(() => expect(values().a).toBe(String(count)));
      watch.break();
    }
  });

  it('because the connection broke goes on without a list, and says once that it broke', async () => {
    const { things, watch, values, states, logged } = await watched();
    watch.send('MODIFIED', things.set('a', 'a1', 'new'));
    await eventually(() => expect(values().a).toBe('new'));
    watch.break();
    const next = await watchNumber(things, 2);
    expect(next.query.resourceVersion).toBe('104');
    expect(things.lists()).toHaveLength(2);
    await eventually(() => expect(states.map(({ connected }) => connected)).toEqual([true, false, true]));
    expect(logged()).toEqual([expect.stringMatching(/^cannot watch .*what was known stays/), `watching ${PATH} again`]);
  });

  it('in the middle of a line goes on from the line before', async () => {
    const { things, watch, takeChanges } = await watched();
    watch.send('MODIFIED', things.set('a', 'a1', 'new'));
    const last = things.set('b', 'b1', 'new');
    watch.write('{"type":"MODIFIED","object":{"metadata":');
    watch.end();
    const next = await watchNumber(things, 2);
    expect(next.query.resourceVersion).toBe('104');
    next.send('MODIFIED', last);
    await eventually(() => expect(takeChanges()).toContain('modified b=new'));
  });

  it.each([
    { why: 'bytes that are no JSON', text: '\u0000\u0001oops\n' },
    { why: 'an event without an object', text: '{"type":"MODIFIED"}\n' },
    { why: 'an event of an unknown type', text: '{"type":"MOVED","object":{"metadata":{"resourceVersion":"7"}}}\n' },
    { why: 'a text that is no event', text: '"MODIFIED"\n' },
  ])('twice with $why makes a new list, so that it is passed over', async ({ text }) => {
    const { things, watch, values } = await watched();
    things.set('a', 'a1', 'new');
    watch.write(text);
    const second = await watchNumber(things, 2);
    expect(second.query.resourceVersion).toBe('103');
    second.write(text);
    const third = await watchNumber(things, 3);
    expect(third.query.resourceVersion).toBe('104');
    expect(values().a).toBe('new');
  });

  it('never, because the connection is dead, is given up in time', async () => {
    stopClock();
    const { things, states, logged } = await watched({ timings: { watchMs: 1_000, graceMs: 100 } });
    vi.advanceTimersByTime(1_100);
    await watchNumber(things, 2);
    expect(states[1]).toEqual({
      connected: false,
      error: `GET ${PATH}: the connection is dead: the watch went on for 1100 ms`,
      isNotServed: false,
      isForbidden: false,
    });
    await eventually(() => expect(logged()).toHaveLength(2));
    await eventually(() => expect(things.openConnections()).toBe(1));
  });

  it('never, although bytes still come, is given up in time as well', async () => {
    stopClock();
    const { things, watch, states } = await watched({ timings: { watchMs: 1_000, graceMs: 100 } });
    const began = performance.now();
    let passedMs = 0;
    const timer = setInterval(() => {
      // On a busy machine, the next watch begins much later.
      if (states.length > 1) return;
      watch.write('\n');
      vi.advanceTimersByTime(50);
      passedMs = performance.now() - began;
    }, 5);
    await watchNumber(things, 2);
    clearInterval(timer);
    expect(passedMs).toBeLessThan(1_200);
  });
});

describe('a list that is the beginning of the watch', () => {
  it('is one request, and complete with its bookmark', async () => {
    const things = await threeThings();
    const { cache, takeChanges, states, values } = await watchThings(things, {
      isStreamed: true,
      fieldSelector: 'x=y',
    });
    const watch = await watchNumber(things, 1);
    const { timeoutSeconds, ...query } = watch.query;
    expect(query).toEqual({
      fieldSelector: 'x=y',
      watch: 'true',
      allowWatchBookmarks: 'true',
      sendInitialEvents: 'true',
      resourceVersionMatch: 'NotOlderThan',
    });
    watch.send('ADDED', things.set('a', 'a1', 'old'));
    await eventually(() => expect(takeChanges()).toEqual(['added a=old']));
    expect(cache.isSynced()).toBe(false);
    watch.sendAll();
    await cache.synced;
    watch.send('MODIFIED', things.set('b', 'b1', 'new'));
    await eventually(() => expect(values().b).toBe('new'));
    expect(takeChanges()).toEqual(['added b=old', 'added c=old', 'modified b=new']);
    expect(states).toEqual([{ connected: true }]);
    watch.break();
    expect((await watchNumber(things, 2)).query.resourceVersion).toBe('105');
    expect(things.lists()).toEqual([]);
  });

  it('has what changes before it is complete', async () => {
    const things = await threeThings();
    const { cache, values } = await watchThings(things, { isStreamed: true });
    const watch = await watchNumber(things, 1);
    watch.send('ADDED', things.set('d', 'd1', 'old'));
    watch.send('ADDED', things.set('e', 'e1', 'old'));
    watch.send('DELETED', things.delete('d'));
    watch.send('MODIFIED', things.set('e', 'e1', 'new'));
    watch.sendAll();
    await cache.synced;
    expect(values()).toEqual({ a: 'old', b: 'old', c: 'old', e: 'new' });
  });

  it('that ends too early removes nothing, and is followed by a list of pages; the next one may be the beginning again', async () => {
    const things = await threeThings();
    const { cache, values, takeChanges } = await watchThings(things, { isStreamed: true });
    (await watchNumber(things, 1)).sendAll();
    await cache.synced;
    const refused = refuse(things, 'list', [500, 'InternalError']);
    things.watches[0]?.send('ERROR', { code: 410, reason: 'Expired', message: '' });
    things.delete('a');
    const second = await watchNumber(things, 2);
    second.send('ADDED', things.set('b', 'b1', 'new'));
    second.end();
    await eventually(() => expect(refused.count).toBeGreaterThan(1));
    expect(values()).toEqual({ a: 'old', b: 'new', c: 'old' });
    takeChanges();
    things.instead = undefined;
    const third = await watchNumber(things, 3);
    expect(third.query.resourceVersion).toBe('105');
    expect(takeChanges()).toEqual(['deleted a=old']);
    third.send('ERROR', { code: 410, reason: 'Expired', message: '' });
    expect((await watchNumber(things, 4)).query.sendInitialEvents).toBe('true');
  });

  it('whose bookmark does not come in time is followed by a list of pages', async () => {
    const things = await threeThings();
    const { cache, states, logged } = await watchThings(things, {
      isStreamed: true,
      timings: { streamedListMs: 50 },
    });
    const watch = await watchNumber(things, 1);
    watch.send('ADDED', things.set('a', 'a1', 'old'));
    await cache.synced;
    expect(cache.size).toBe(3);
    expect((await watchNumber(things, 2)).query.resourceVersion).toBe('104');
    expect(states.map((state) => state.connected || state.error)).toEqual([
      `GET ${PATH}: not all objects were sent within 50 ms`,
      true,
    ]);
    expect(logged()).toEqual([expect.stringMatching(/^cannot watch .*not all objects/), `watching ${PATH} again`]);
  });

  it('that the API server ends because its cache is behind etcd is followed by a list of pages', async () => {
    const things = await threeThings();
    const { cache, values } = await watchThings(things, { isStreamed: true });
    const refusal = { reason: 'Timeout', message: 'Too large resource version', details: { retryAfterSeconds: 1 } };
    (await watchNumber(things, 1)).send('ERROR', { kind: 'Status', code: 504, ...refusal });
    await cache.synced;
    expect(values()).toEqual({ a: 'old', b: 'old', c: 'old' });
    expect((await watchNumber(things, 2)).query.sendInitialEvents).toBeUndefined();
  });

  it('that is forbidden is no reason to list: that is another right', async () => {
    const things = await threeThings();
    const refused = refuse(things, 'watch', [403, 'Forbidden']);
    const { cache, states } = await watchThings(things, { isStreamed: true });
    await eventually(() => expect(refused.count).toBeGreaterThan(2));
    expect(cache.isSynced()).toBe(false);
    expect(states.every(({ connected }) => !connected)).toBe(true);
  });

  it('that does not come in time closes no other watch, and others may begin in the same way', async () => {
    const things = await threeThings();
    const { cache, client } = await watchThings(things, { isStreamed: true });
    (await watchNumber(things, 1)).sendAll();
    await cache.synced;
    const also = (timings: WatchOptions<string>['timings'] = {}) => {
      const log = captureLog();
      const other = watchResource({ client, path: PATH, isStreamed: true, project: () => '', ...log, timings });
      onTestFinished(() => other.stop());
      return other;
    };
    const late = also({ streamedListMs: 50 });
    await late.synced;
    await watchNumber(things, 3);
    also();
    expect((await watchNumber(things, 4)).query.sendInitialEvents).toBe('true');
    things.watches[0]?.send('MODIFIED', things.set('a', 'a1', 'new'));
    await eventually(() => expect(cache.get('a')?.value).toBe('new'));
    expect(things.watches).toHaveLength(4);
  });

  it('ends a fault once it is complete, and not before', async () => {
    const things = await threeThings();
    const { cache, logged } = await watchThings(things, { isStreamed: true });
    (await watchNumber(things, 1)).sendAll();
    await cache.synced;
    things.watches[0]?.send('ERROR', { code: 404, reason: 'NotFound', message: '' });
    const second = await watchNumber(things, 2);
    expect(second.query.sendInitialEvents).toBe('true');
    const unserved = expect.stringContaining('is the CustomResourceDefinition installed?');
    second.send('MODIFIED', things.set('a', 'a1', 'new'));
    await eventually(() => expect(cache.get('a')?.value).toBe('new'));
    expect(logged()).toEqual([unserved]);
    second.sendAll();
    await eventually(() => expect(logged()).toEqual([unserved, `watching ${PATH} again`]));
  });

  it.each([
    { why: 'WatchList is switched off (Kubernetes 1.33)', refusal: [422, 'Invalid'] as [number, string] },
    { why: 'the API server does not know it', refusal: [400, 'BadRequest'] as [number, string] },
  ])('is a list and a watch where $why, and the client does not try again', async ({ refusal }) => {
    const things = await threeThings();
    refuse(things, 'watch', refusal, 1);
    const { cache, client, values, logged } = await watchThings(things, { isStreamed: true });
    await cache.synced;
    expect((await watchNumber(things, 1)).query.resourceVersion).toBe('103');
    expect(values()).toEqual({ a: 'old', b: 'old', c: 'old' });
    expect(logged()).toEqual([]);
    const other = watchResource({ client, path: PATH, isStreamed: true, project: () => '', log: captureLog().log });
    onTestFinished(() => other.stop());
    await other.synced;
    expect(things.requests().filter(({ query }) => query.sendInitialEvents)).toHaveLength(1);
  });
});

describe('a watch that begins now', () => {
  it('knows nothing of what exists, and begins anew when events are missing: what it knew is forgotten', async () => {
    const things = await threeThings();
    const onListed = vi.fn();
    const { cache, values } = await watchThings(things, { fromNow: true, onListed });
    await cache.synced;
    const watch = await watchNumber(things, 1);
    expect(watch.query.resourceVersion).toBe('103');
    expect([cache.size, onListed.mock.calls.length, things.lists()]).toEqual([0, 1, []]);
    watch.send('MODIFIED', things.set('a', 'a1', 'new'));
    watch.send('ADDED', things.set('d', 'd1', 'new'));
    await eventually(() => expect(values()).toEqual({ a: 'new', d: 'new' }));
    watch.send('ERROR', { code: 410, reason: 'Expired', message: '' });
    const second = await watchNumber(things, 2);
    expect(second.query.resourceVersion).toBe('105');
    expect([cache.size, onListed.mock.calls.length, things.lists()]).toEqual([0, 2, []]);
  });

  it('keeps what it knows when the connection breaks, and later than an hour', async () => {
    stopClock();
    const things = await threeThings();
    const { cache, values } = await watchThings(things, { fromNow: true });
    await cache.synced;
    (await watchNumber(things, 1)).send('MODIFIED', things.set('a', 'a1', 'new'));
    await eventually(() => expect(values()).toEqual({ a: 'new' }));
    vi.advanceTimersByTime(4_000_000);
    const second = await watchNumber(things, 2);
    expect(second.query.resourceVersion).toBe('104');
    expect(values()).toEqual({ a: 'new' });
  });
});

describe('a watch of objects whose definition may change', () => {
  const hasNewSpec: WatchOptions<string>['hasNewSpec'] = (object, known) =>
    (object as { text: string }).text !== known?.value;

  it.each([
    { what: 'a new object', name: 'd', type: 'ADDED' },
    { what: 'an object with another spec', name: 'a', type: 'MODIFIED' },
  ])('lists $what, instead of taking it from the event', async ({ name, type }) => {
    const { things, watch, takeChanges } = await watched({ hasNewSpec });
    watch.send(type, { ...things.set(name, `${name}1`, 'whole'), text: 'without the new field' });
    const next = await watchNumber(things, 2);
    expect(next.query.resourceVersion).toBe('104');
    expect(takeChanges()).toEqual([`${type.toLowerCase()} ${name}=whole`]);
  });

  it('takes an event with the known spec, as of a write of the status', async () => {
    const { things, watch, takeChanges } = await watched({ hasNewSpec });
    const lists = things.lists().length;
    watch.send('MODIFIED', things.set('a', 'a1', 'old'));
    await eventually(() => expect(takeChanges()).toEqual(['modified a=old']));
    expect(things.lists()).toHaveLength(lists);
  });

  it('lists all after a watch that the API server ended early, and not after one that lasted its time', async () => {
    stopClock();
    const { things, watch, values } = await watched({ hasNewSpec });
    vi.advanceTimersByTime(2_000);
    things.set('a', 'a1', 'read again');
    watch.end();
    const second = await watchNumber(things, 2);
    expect(values().a).toBe('read again');
    const lists = things.lists().length;
    vi.advanceTimersByTime(30_000);
    second.end();
    await watchNumber(things, 3);
    expect(things.lists()).toHaveLength(lists);
  });
});

describe('events that are no longer to be had', () => {
  it.each(['event', 'status'])('(410 by %s) lead to a list that repairs, and tells nothing else', async (by) => {
    const { things, watch, takeChanges, values, logged, states } = await watched();
    things.set('a', 'a1', 'new');
    things.delete('b');
    things.set('c', 'c2', 'other');
    things.set('d', 'd1', 'new');
    if (by === 'event') watch.send('ERROR', { kind: 'Status', code: 410, reason: 'Expired', message: 'too old' });
    else {
      refuse(things, 'watch', [410, 'Expired'], 1);
      watch.break();
    }
    await watchNumber(things, 2);
    expect(takeChanges().sort()).toEqual([
      'added c=other',
      'added d=new',
      'deleted b=old',
      'deleted c=old',
      'modified a=new',
    ]);
    expect(values()).toEqual({ a: 'new', c: 'other', d: 'new' });
    if (by === 'event')
      expect({ logged: logged(), states }).toEqual({ logged: [], states: [{ connected: true }, { connected: true }] });
  });

  it('again right after each list do not become a rush of lists', async () => {
    const { things, watch } = await watched({ timings: { backOffMinMs: 50, backOffMaxMs: 200 } });
    const seen = refuse(things, 'watch', [410, 'Expired']);
    watch.break();
    const began = performance.now();
    await eventually(() => expect(seen.count).toBeGreaterThanOrEqual(4));
    expect(performance.now() - began).toBeGreaterThan(150);
  });

  it('as another error event lead to a pause, not to a list', async () => {
    const { things, watch, logged } = await watched();
    watch.send('ERROR', { kind: 'Status', code: 500, message: 'etcd is away' });
    expect((await watchNumber(things, 2)).query.resourceVersion).toBe('103');
    expect(logged()[0]).toContain('GET /apis/test/v1/things: 500: etcd is away');
    expect(things.lists()).toHaveLength(2);
  });
});

describe('an API server', () => {
  it.each([
    {
      why: 'does not know the path',
      status: [404, 'NotFound'] as [number, string],
      says: 'is the CustomResourceDefinition installed?',
    },
    {
      why: 'refuses',
      status: [403, 'Forbidden'] as [number, string],
      says: 'apiGroups ["test"], resources ["things"], verbs ["list", "watch"]',
    },
  ])('that $why is asked again, logged once, and leaves what was known', async ({ status, says }) => {
    const { things, watch, logged, values, takeChanges } = await watched();
    const seen = refuse(things, 'all', status);
    watch.break();
    await eventually(() => expect(seen.count).toBeGreaterThan(5));
    expect(values()).toEqual({ a: 'old', b: 'old', c: 'old' });
    expect(logged().filter((message) => message.includes(says))).toHaveLength(1);
    things.set('a', 'a1', 'new');
    things.instead = undefined;
    const next = await watchNumber(things, 2);
    if (status[0] === 404) expect(takeChanges()).toEqual(['modified a=new']);
    else expect(next.query.resourceVersion).toBe('103');
    await eventually(() => expect(logged().at(-1)).toBe(`watching ${PATH} again`));
  });

  it('that withdraws the right to list, and not that to watch, is watched all the same', async () => {
    const { things, watch, takeChanges } = await watched();
    refuse(things, 'list', [403, 'Forbidden']);
    watch.break();
    const next = await watchNumber(things, 2);
    next.send('MODIFIED', things.set('a', 'a1', 'new'));
    await eventually(() => expect(takeChanges()).toEqual(['modified a=new']));
  });

  it('that does not know the path yet is waited for', async () => {
    const things = await threeThings();
    const seen = refuse(things, 'all', [404, 'NotFound']);
    const { cache, values, logged, states } = await watchThings(things);
    await eventually(() => expect(seen.count).toBeGreaterThan(3));
    expect(logged()).toHaveLength(1);
    expect(states).toHaveLength(1);
    things.instead = undefined;
    await cache.synced;
    expect(values()).toEqual({ a: 'old', b: 'old', c: 'old' });
  });

  it('whose etcd was set back during an outage is listed anew', async () => {
    const { things, watch, values } = await watched();
    things.set('a', 'a1', 'restored');
    things.version = 50;
    watch.break();
    expect((await watchNumber(things, 2)).query.resourceVersion).toBe('50');
    expect(values().a).toBe('restored');
  });
});

describe('once in a while', () => {
  it('everything is listed anew, which repairs what was missed and tells nothing else', async () => {
    const { things, watch, takeChanges, values } = await watched({ timings: { relistMs: 1 } });
    things.set('a', 'a1', 'missed');
    things.delete('b');
    watch.send('BOOKMARK', { metadata: { resourceVersion: String(things.version) } });
    watch.end();
    await watchNumber(things, 2);
    expect(takeChanges()).toEqual(['modified a=missed', 'deleted b=old']);
    expect(values()).toEqual({ a: 'missed', c: 'old' });
  });

  it('a list that fails does not keep the events away', async () => {
    const { things, watch } = await watched({ timings: { relistMs: 100 } });
    const due = performance.now() + 100;
    await eventually(() => expect(performance.now()).toBeGreaterThan(due));
    const failed = { count: 0, beforeWatch: -1 };
    things.instead = ({ query }, response) => {
      // Counted there: whoever looks later may see the next list, which is due just as soon.
      if (query.watch && failed.beforeWatch === -1) failed.beforeWatch = failed.count;
      if (query.watch || query.limit === '1') return false;
      failed.count++;
      response.writeHead(500).end();
      return true;
    };
    things.version = 500;
    watch.send('BOOKMARK', { metadata: { resourceVersion: '500' } });
    watch.end();
    expect((await watchNumber(things, 2)).query.resourceVersion).toBe('500');
    expect(failed.beforeWatch).toBe(1);
  });
});

describe('stop', () => {
  it.each([{ during: 'a watch' }, { during: 'a pause' }])(
    'during $during ends it at once, leaves no connection, and tells nothing any more',
    async ({ during }) => {
      const { things, watch, cache, client, takeChanges, states } = await watched({
        timings: { backOffMinMs: 60_000, backOffMaxMs: 60_000 },
      });
      if (during === 'a pause') {
        watch.break();
        await eventually(() => expect(states.at(-1)?.connected).toBe(false));
      }
      const stopped = cache.stop();
      watch.send('MODIFIED', things.set('a', 'a1', 'new'));
      await stopped;
      client.close();
      await eventually(() => expect(things.openConnections()).toBe(0));
      expect(takeChanges()).toEqual([]);
      expect(cache.get('a')?.value).toBe('old');
    },
  );

  it('by a callback tells nothing of what has come with the same chunk', async () => {
    const told: string[] = [];
    const { things, watch, cache } = await watched({
      onChange({ entry }) {
        told.push(entry.value);
        if (entry.value === 'last') void cache.stop();
      },
    });
    const events = ['last', 'more'].map((text) => ({ type: 'MODIFIED', object: things.set('a', 'a1', text) }));
    watch.write(events.map((event) => `${JSON.stringify(event)}\n`).join(''));
    await eventually(() => expect(told).toContain('last'));
    await cache.stop();
    expect(told).toEqual(['old', 'old', 'old', 'last']);
  });

  it('lets the process end by itself, with nothing else done', async () => {
    const things = await threeThings();
    const { file } = await clientFor(things.url);
    const script = `
      import { connect } from ${JSON.stringify(import.meta.resolve('../../../../src/cluster/client/api-client.ts'))};
      import { watchResource } from ${JSON.stringify(import.meta.resolve('../../../../src/cluster/watch/watch-cache.ts'))};
      const log = new Proxy({}, { get: () => () => {} });
      const client = await connect({ kubeconfig: ${JSON.stringify(file)}, userAgent: 'test' });
      const cache = watchResource({ client, path: '${PATH}', project: () => 1, log });
      await cache.synced;
      await cache.stop();
      client.close();
      process.stdout.write(String(cache.size));`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', script]);
    onTestFinished(() => void child.kill());
    const [printed, complaints, [code]] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      once(child, 'exit'),
    ]);
    expect({ printed, complaints, code }).toEqual({ printed: '3', complaints: '', code: 0 });
  });
});
