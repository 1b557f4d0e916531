import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { join } from 'node:path';

/**
 * The least that a webhook in Node.js can do: read the body, parse it, and say yes; on `/patch`, with a patch that is the same for each
 * DaemonSet, and lies ready. What it takes is what TLS, HTTP and JSON take, whatever the rules.
 *
 *     node bench/peers/floor.ts PORT CERT_DIR
 */
const [port, certDir = ''] = process.argv.slice(2);
const pem = (file: string) => readFileSync(join(certDir, file));

const tolerations = ['node-role.kubernetes.io/master', 'node-role.kubernetes.io/control-plane'].map((key) => ({
  ...{ key, operator: 'Exists', effect: 'NoSchedule' },
}));
const operations = [{ op: 'add', path: '/spec/template/spec/tolerations', value: tolerations }];
const patch = { patchType: 'JSONPatch', patch: Buffer.from(JSON.stringify(operations)).toString('base64') };

const server = createServer({ cert: pem('tls.crt'), key: pem('tls.key') }, (incoming, response) => {
  const chunks: Buffer[] = [];
  incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
  incoming.on('end', () => {
    const { apiVersion, kind, request } = JSON.parse(Buffer.concat(chunks).toString());
    const answer = { uid: request.uid, allowed: true, ...(incoming.url?.startsWith('/patch') ? patch : {}) };
    const body = JSON.stringify({ apiVersion, kind, response: answer });
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) });
    response.end(body);
  });
});
server.keepAliveTimeout = 120_000;
server.listen(Number(port), '127.0.0.1');
