import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { join } from 'node:path';

/**
 * The least that a webhook in Node.js can do: read the body, parse it, and say yes. What it takes is what TLS, HTTP and JSON
 * take, whatever the rules.
 *
 *     node bench/peers/floor.ts PORT CERT_DIR
 */
const [port, certDir = ''] = process.argv.slice(2);
const pem = (file: string) => readFileSync(join(certDir, file));

const server = createServer({ cert: pem('tls.crt'), key: pem('tls.key') }, (request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const { apiVersion, kind, request } = JSON.parse(Buffer.concat(chunks).toString());
    const body = JSON.stringify({ apiVersion, kind, response: { uid: request.uid, allowed: true } });
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) });
    response.end(body);
  });
});
server.keepAliveTimeout = 120_000;
server.listen(Number(port), '127.0.0.1');
