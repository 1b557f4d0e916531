import { Agent, request } from 'node:https';
import { setTimeout } from 'node:timers/promises';
import { connect, type TLSSocket } from 'node:tls';
import { BODY_LIMIT_BYTES } from '../src/server/json-body.ts';
import { createWorkspace } from '../test/control-plane/workspace.ts';
import { taintRemovalReview } from '../test/unit/reviews.ts';
import { withJson } from '../test/unit/server/review-texts.ts';
import { createMemoryCgroup } from './cgroups.ts';
import { startConfinedReplica } from './confined-replica.ts';
import { buildBundle } from './contenders.ts';
import { requestBytes } from './endpoint/request-file.ts';
import { printHead, printRow } from './markdown-table.ts';
import { range } from './statistics.ts';

/**
 * What floods cost a replica that has a container's memory and no more: thousands of TLS connections that say nothing, the largest
 * bodies from many clients at once, both, and bodies in pieces of one byte. Prints a Markdown table. Linux, with the right to make cgroups.
 *
 *     npx node bench/flood.ts
 */
const ROUNDS = 3;
const LIMIT_MIB = 320;
const SILENT = 5_000;
const SENDERS = 150;
const workspace = createWorkspace('bench');
const certDir = workspace.path('certs');
const onNode = (metadata: object) =>
  taintRemovalReview({ object: { metadata: { name: 'cp-1', ...metadata }, spec: {} } });
/** As long as a body may be: one text that is kept, in which a character makes V8 take two bytes for each. */
const longest = Buffer.from(JSON.stringify(onNode({ uid: `€${'x'.repeat(BODY_LIMIT_BYTES - 10_000)}` })));
/** As many taints as a body may have, with such a character, too. */
const taints = Array.from({ length: 9_800 }, (_, n) => ({
  key: n.toString(36).padStart(4, '-'),
  effect: 'NoExecute',
}));
const fullest = Buffer.from(
  JSON.stringify(taintRemovalReview({ object: { metadata: { name: 'cp-1', uid: '€' }, spec: { taints } } })),
);
/** As many maps as are parsed, of the kind that V8 makes the most of. */
const densest = Buffer.from(withJson(taintRemovalReview({ options: 'HERE' }), `[${Array(19_900).fill('{"33":0}')}]`));
/** What an API server may send of a Node that etcd accepts: it is received and discarded. */
const tooLarge = Buffer.from(JSON.stringify(taintRemovalReview({ options: 'x'.repeat(25_000_000) })));
buildBundle();

type Flood = (port: number) => Promise<void>;
const silence: Flood = (port) => open(port, SILENT, false);
/** Each client sends so many, one after the other. */
const bodies =
  (review: Buffer, count: number): Flood =>
  async (port) => {
    const agent = new Agent({ keepAlive: true, rejectUnauthorized: false });
    await Promise.all(
      Array.from({ length: SENDERS }, async () => {
        for (let body = 0; body < count; body++) await send(port, agent, review);
      }),
    );
    agent.destroy();
  };
const floods: readonly [string, Flood][] = [
  [`${SILENT.toLocaleString('en')} TLS connections that say nothing`, silence],
  [`${SENDERS} clients that send 2 bodies of ${mb(longest)} each`, bodies(longest, 2)],
  [`${SENDERS} clients that send a body with 9,800 taints each`, bodies(fullest, 1)],
  [`${SENDERS} clients that send 2 bodies of ${mb(densest)} with 19,900 maps each`, bodies(densest, 2)],
  [`${SENDERS} clients that send a body of ${mb(tooLarge)} each, which is too large`, bodies(tooLarge, 1)],
  [`${SENDERS} clients that send a body in 30,000 chunks of one byte each`, inChunks(30_000)],
  [`${SENDERS} clients that send 2,000 bytes of a body in TLS records of one byte each`, inRecords(2_000)],
  [
    'the first two, and 500 connections that asked once',
    async (port) => {
      await open(port, SILENT, false);
      await open(port, 500, true);
      await bodies(longest, 2)(port);
    },
  ],
];

printHead('flood', `most memory, of ${LIMIT_MIB} MiB`, 'killed', 'answers a review then');
for (const [what, flood] of floods) {
  const peaks: number[] = [];
  let kills = 0;
  let answers = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const cgroup = createMemoryCgroup(`taintkeeper-flood-${process.pid}`, LIMIT_MIB);
    const replica = await startConfinedReplica(cgroup, certDir);
    const request = requestBytes('/validate', '{}');
    await replica.answers(request);
    await flood(replica.port);
    answers += await replica.answers(request).then(
      () => 1,
      () => 0,
    );
    peaks.push(cgroup.peakMib());
    kills += cgroup.kills();
    await replica.end();
    cgroup.remove();
  }
  printRow(what, `${range(peaks)} MiB`, `${kills} of ${ROUNDS}`, `${answers} of ${ROUNDS}`);
}
process.exit();

function mb({ length }: Buffer): string {
  return `${(length / 1e6).toFixed(1)} MB`;
}

/** Each client sends so many chunks at once. */
function inChunks(count: number): Flood {
  const chunks = `${head('Transfer-Encoding: chunked')}${'1\r\n \r\n'.repeat(count)}`;
  return (port) => fromEachSender(port, (socket) => write(socket, chunks));
}

/** Each client sends so many records, and never the rest of the body. */
function inRecords(count: number): Flood {
  return (port) =>
    fromEachSender(port, async (socket) => {
      await write(socket, head(`Content-Length: ${BODY_LIMIT_BYTES}`));
      // What is written before a record has gone is added to the next one.
      for (let record = 0; record < count && !socket.destroyed; record++) await write(socket, ' ');
    });
}

function head(field: string): string {
  return `POST /validate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n${field}\r\n\r\n`;
}

/** Waits for all that is sent, and for a second longer, and closes the connections. */
async function fromEachSender(port: number, sendAll: (socket: TLSSocket) => Promise<void>): Promise<void> {
  const sockets = await Promise.all(
    Array.from({ length: SENDERS }, async () => {
      const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false });
      socket.on('error', () => {}).on('data', () => {});
      await new Promise((resolve) => socket.once('secureConnect', resolve).once('close', resolve));
      return socket;
    }),
  );
  await Promise.all(sockets.map(sendAll));
  await setTimeout(1_000);
  for (const socket of sockets) socket.destroy();
}

/** Resolves when it was sent, or the connection has ended. */
function write(socket: TLSSocket, text: string): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      socket.off('close', done);
      resolve();
    };
    socket.once('close', done);
    socket.write(text, done);
  });
}

/** Opens connections, and leaves them open as long as the server does. */
async function open(port: number, count: number, asks: boolean): Promise<void> {
  const openOne = () =>
    new Promise<void>((resolve) => {
      const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false }, () => {
        if (asks) socket.write(requestBytes('/', ''));
        resolve();
      });
      socket.on('error', () => resolve()).on('data', () => {});
    });
  for (let opened = 0; opened < count; opened += 50) await Promise.all(Array.from({ length: 50 }, openOne));
}

/** Sends the review, and waits for the answer or for the end of the connection. */
function send(port: number, agent: Agent, review: Buffer): Promise<void> {
  return new Promise((resolve) => {
    const headers = { 'content-type': 'application/json', 'content-length': review.length };
    const outgoing = request({ port, host: '127.0.0.1', path: '/validate', method: 'POST', agent, headers });
    outgoing.once('response', (response) => response.resume().once('close', resolve));
    outgoing.once('error', () => resolve());
    outgoing.end(review);
  });
}
