import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import Fastify from 'fastify';

/**
 * What floor.ts does, with Fastify as it comes: what Fastify itself takes.
 *
 *     node bench/peers/bare-fastify.ts PORT CERT_DIR
 */
const [port, certDir = ''] = process.argv.slice(2);
const pem = (file: string) => readFileSync(join(certDir, file));

const app = Fastify({ https: { cert: pem('tls.crt'), key: pem('tls.key') }, keepAliveTimeout: 120_000 });
for (const path of ['/validate', '/mutate']) {
  app.post(path, (incoming, reply) => {
    const { apiVersion, kind, request } = incoming.body as {
      readonly apiVersion: string;
      readonly kind: string;
      readonly request: { readonly uid: string };
    };
    reply.send({ apiVersion, kind, response: { uid: request.uid, allowed: true } });
  });
}
await app.listen({ port: Number(port), host: '127.0.0.1' });
