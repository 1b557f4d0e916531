import type { IncomingMessage } from 'node:http';
import { PassThrough } from 'node:stream';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { RECEIVED_LIMIT_BYTES } from '../../../src/server/admission-server.ts';
import { type ArrivalLimits, followArrivals } from '../../../src/server/arrivals.ts';
import { CLIENT_TIMEOUTS } from '../../../src/server/client-timeouts.ts';
import { BODY_LIMIT_BYTES } from '../../../src/server/json-body.ts';
import { LEVEL } from '../captured-log.ts';
import { eventually } from '../eventually.ts';
import { closed, openTls } from './raw-connections.ts';
import { reviewOfSize } from './review-texts.ts';
import { ALIVE, startServer } from './running-server.ts';

const PART = Buffer.alloc(BODY_LIMIT_BYTES - 1, ' ');
const MOST = RECEIVED_LIMIT_BYTES / BODY_LIMIT_BYTES;
const HEAD = `POST /validate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${BODY_LIMIT_BYTES}\r\n\r\n`;

it('bodies that are never finished are closed while others wait for their room, and those are judged', async () => {
  const timeouts = { ...CLIENT_TIMEOUTS, slowChecks: 3, checkIntervalMs: 20 };
  const server = await startServer({ timeouts });
  const clients = await Promise.all(Array.from({ length: MOST }, () => openTls(server.port)));
  await Promise.all(clients.map((client) => new Promise((resolve) => client.write(HEAD, resolve))));
  for (const client of clients) client.write(PART);
  const inFlight = server.metrics.registry.getSingleMetric('taintkeeper_admission_in_flight');
  await eventually(async () => expect((await inFlight?.get())?.values[0]?.value).toBe(MOST));

  expect((await server.post(reviewOfSize(BODY_LIMIT_BYTES))).status).toBe(200);
  await Promise.race(clients.map(closed));
  expect(server.log.lines()[0]).toMatchObject({ level: LEVEL.warn, msg: expect.stringMatching(/^too many bytes/) });
  expect(await server.aliveAnswer()).toEqual(ALIVE);
});

it('the room of a request is free again when it has been answered', async () => {
  const server = await startServer();
  const body = reviewOfSize(BODY_LIMIT_BYTES);
  for (let n = 0; n < MOST + 2; n++) expect((await server.post(body)).status).toBe(200);

  expect(server.log.text()).not.toContain('too many bytes');
});

describe('a body', () => {
  /** Of twenty bytes, of which a sender gets ten. */
  function start(limits: Partial<ArrivalLimits> = {}) {
    const onClosed = vi.fn();
    const arrivals = followArrivals({
      bytes: 20,
      bodyMs: 60_000,
      slowChecks: 3,
      checkIntervalMs: 60_000,
      onClosed,
      ...limits,
    });
    onTestFinished(arrivals.stop);
    const read: string[] = [];
    function request(name: string, bytes: number, from = 'api-server') {
      const message = Object.assign(new PassThrough(), { socket: { remoteAddress: from } });
      arrivals.begin(message as unknown as IncomingMessage, () => {});
      arrivals.makeRoom(message as unknown as IncomingMessage, bytes, () => read.push(name));
      return message;
    }
    return { request, read, onClosed };
  }

  it('waits until there is room, in the order of one sender', () => {
    const { request, read } = start();
    const first = request('first', 6);
    const second = request('second', 6);
    request('third', 1);
    expect(read).toEqual(['first']);

    first.emit('end');
    expect(read).toEqual(['first', 'second', 'third']);
    second.emit('end');
    expect(read).toHaveLength(3);
  });

  it('of another sender takes turns with those of one that sends many, which gets half of the room', () => {
    const { request, read } = start();
    const [first, ...others] = ['a', 'b', 'c'].map((name) => request(name, 10));
    request('other', 10, 'pod');
    expect(read).toEqual(['a', 'other']);

    request('third sender', 10, 'pod 2');
    first?.emit('end');
    others[0]?.emit('end');
    expect(read).toEqual(['a', 'other', 'b', 'third sender']);
  });

  it('of a sender that has used its half keeps no other waiting, however large it is', () => {
    const { request, read } = start();
    const half = request('half', 10);
    request('other', 4, 'pod');
    request('large', 8);
    request('small', 2, 'pod 2');
    expect(read).toEqual(['half', 'other', 'small']);

    half.emit('end');
    expect(read).toEqual(['half', 'other', 'small', 'large']);
  });

  it('whose connection ends while it waits takes no room', () => {
    const { request, read } = start();
    const first = request('first', 10);
    request('gone', 10).emit('close');
    request('third', 10);
    first.emit('end');

    expect(read).toEqual(['first', 'third']);
  });

  it('that is discarded needs no room to begin with', () => {
    const { request, read } = start();
    request('first', 10);
    request('discarded', 0);
    expect(read).toEqual(['first', 'discarded']);
  });

  it('that takes long is closed while others wait, and not before', () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'setImmediate'] });
    onTestFinished(() => void vi.useRealTimers());
    const { request, read, onClosed } = start({ slowChecks: 3, checkIntervalMs: 1 });
    const slow = request('slow', 6);
    const small = request('small', 1);
    vi.advanceTimersByTime(10);
    expect(onClosed).not.toHaveBeenCalled();

    request('waiting', 8);
    vi.advanceTimersByTime(2);
    expect(read).toEqual(['slow', 'small']);
    vi.advanceTimersByTime(10);
    expect(read).toEqual(['slow', 'small', 'waiting']);
    expect([slow, small].map(({ destroyed }) => destroyed)).toEqual([true, false]);
  });

  it('that takes long stays while others wait only for the half of their own sender', () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'setImmediate'] });
    onTestFinished(() => void vi.useRealTimers());
    const { request, read } = start({ slowChecks: 3, checkIntervalMs: 1 });
    const slow = request('slow', 4);
    const half = request('half', 10, 'pod');
    request('waiting', 6, 'pod');
    vi.advanceTimersByTime(10);

    expect(read).toEqual(['slow', 'half', 'waiting']);
    expect([slow, half].map(({ destroyed }) => destroyed)).toEqual([false, true]);
  });
});
