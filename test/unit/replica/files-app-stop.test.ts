import { describe, expect, it } from 'vitest';
import { eventually } from '../eventually.ts';
import { answerOf, OK, REQUEST } from '../http-requests.ts';
import { closed, openRaw, openTls, readAnswer, readToEnd } from '../server/raw-connections.ts';
import { start } from './running-app.ts';

describe('stop', () => {
  it.each<{ what: string; open: (app: Awaited<ReturnType<typeof start>>) => Promise<{ closed: boolean }> }>([
    { what: 'a TLS connection that never sent a request', open: ({ port, ca }) => openTls(port, ca()) },
    { what: 'a TCP connection that never began a handshake', open: ({ port }) => openRaw(port) },
    {
      what: 'an idle keep-alive connection',
      async open({ port, ca }) {
        const connection = await openTls(port, ca());
        connection.write(REQUEST);
        await readAnswer(connection);
        return connection;
      },
    },
    {
      what: 'a request that is half sent',
      async open({ port, ca }) {
        const connection = await openTls(port, ca());
        connection.write(REQUEST.slice(0, -5));
        await answerOf(port, ca());
        return connection;
      },
    },
    { what: 'an idle connection to the admin listener', open: ({ adminPort }) => openRaw(adminPort) },
    {
      what: 'half a request to the admin listener',
      async open({ adminPort, readiness }) {
        const connection = await openRaw(adminPort);
        connection.write('GET /metrics HTTP/1.1\r\nHost: ');
        await readiness();
        return connection;
      },
    },
  ])('is bounded with $what', async ({ open }) => {
    const app = await start();
    const connection = await open(app);
    // If it waited for the connection, the test would not end.
    await app.stop();

    await closed(connection as Parameters<typeof closed>[0]);
    await expect(openRaw(app.port)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    await expect(openRaw(app.adminPort)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  });

  it('waits for nothing when every connection is idle', async () => {
    const app = await start({ stopGraceMs: 60_000 });
    const connection = await openTls(app.port, app.ca());
    connection.write(REQUEST);
    await readAnswer(connection);

    await app.stop();
    await closed(connection);
  });

  it('answers a request that was on its way', async () => {
    const app = await start({ stopGraceMs: 60_000 });
    const connection = await openTls(app.port, app.ca());
    connection.write(REQUEST.slice(0, -5));
    await eventually(async () => expect(await app.metrics()).toContain('taintkeeper_admission_in_flight 1'));
    const stopped = app.stop();
    connection.write(REQUEST.slice(-5));

    expect(await readToEnd(connection)).toMatch(OK);
    await stopped;
  });

  it('may be asked for twice', async () => {
    const app = await start();
    const connection = await openTls(app.port, app.ca());
    await Promise.all([app.stop(), app.stop()]);
    await app.stop();

    await closed(connection);
    await expect(openRaw(app.port)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    await expect(openRaw(app.adminPort)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  });

  it('fails readiness while it lasts, so that no new connections come', async () => {
    const { readiness, port, ca, stop } = await start();
    const half = await openTls(port, ca());
    half.write(REQUEST.slice(0, -5));
    // The server has it once it answers another.
    await answerOf(port, ca());
    const stopping = stop();

    expect(await readiness()).toMatchObject({
      status: 503,
      lines: expect.arrayContaining(['[-] shutdown failed: stopping', 'not ready']),
    });
    await stopping;
  });
});
