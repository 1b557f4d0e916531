import { readFileSync } from 'node:fs';
import { connect } from 'node:tls';
import { cpuSecondsOf } from '../process-cpu.ts';
import { percentile } from '../statistics.ts';
import type { Load, Measured } from './load.ts';
import type { Expected } from './reviews.ts';

const HEAD_END = '\r\n\r\n';

process.stdout.write(JSON.stringify(await run(JSON.parse(process.argv[2] ?? '') as Load)));

/** Does what {@link Load} says, once, and prints {@link Measured} as JSON. */
async function run({ port, pid, caFile, requestFile, expected, connections, seconds }: Load): Promise<Measured> {
  const ca = readFileSync(caFile);
  const bytes = readFileSync(requestFile);
  const latencies: number[] = [];
  const sockets = await Promise.all(Array.from({ length: connections }, () => open(port, ca)));

  // Handshakes and the first requests of a connection are not what is measured.
  await Promise.all(sockets.map((socket) => exchange(socket, bytes)));
  const cpuBefore = cpuSecondsOf(pid);
  const began = performance.now();
  const end = began + seconds * 1000;
  await Promise.all(
    sockets.map(async (socket) => {
      while (performance.now() < end) {
        const sent = performance.now();
        check(await exchange(socket, bytes), expected);
        latencies.push(performance.now() - sent);
      }
    }),
  );
  const took = (performance.now() - began) / 1000;
  const cpuSeconds = cpuSecondsOf(pid) - cpuBefore;
  for (const socket of sockets) socket.destroy();
  return {
    requests: latencies.length,
    cpuSecondsPerThousand: (cpuSeconds / latencies.length) * 1000,
    requestsPerSecond: latencies.length / took,
    p50: percentile(latencies, 0.5),
    p99: percentile(latencies, 0.99),
  };
}

type Socket = ReturnType<typeof connect>;

function open(port: number, ca: Buffer): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', ca, ALPNProtocols: ['http/1.1'] }, () => resolve(socket));
    socket.setNoDelay(true).once('error', reject);
  });
}

/** Sends one request, and returns the whole answer. */
function exchange(socket: Socket, bytes: Buffer): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    let received: Buffer = Buffer.alloc(0);
    const end = () => reject(new Error('the server ended the connection'));
    socket.once('close', end);
    socket.on('data', function take(chunk: Buffer) {
      received = received.length === 0 ? chunk : Buffer.concat([received, chunk]);
      const head = received.indexOf(HEAD_END);
      if (head === -1) return;
      const length = /^content-length: (\d+)/im.exec(received.toString('latin1', 0, head))?.[1];
      if (length === undefined) return reject(new Error('an answer without Content-Length'));
      if (received.length < head + HEAD_END.length + Number(length)) return;
      socket.off('data', take).off('close', end);
      resolve(received);
    });
    socket.write(bytes);
  });
}

function check(answer: Buffer, expected: Expected | undefined): void {
  const says = (text: string) => answer.includes(text);
  const right = expected
    ? says(`"allowed":${expected.allowed}`) && says('"patch":') === expected.patched
    : says('"allowed":true');
  if (!right) throw new Error(`not the answer that was expected: ${answer}`);
}
