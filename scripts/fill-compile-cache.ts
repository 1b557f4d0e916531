import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

/**
 * Starts a program's webhook as in a cluster, and stops it once it serves, so that Node.js keeps what V8 has compiled of it. There is no
 * cluster: whatever asks for one is told so, and goes on. The Dockerfile has it run by the Node.js of the image, which alone can
 * use what comes of it.
 *
 *     node fill-compile-cache.ts /app/taintkeeper.cjs FOLDER
 */
const TIMEOUT_MS = 60_000;
/** Where nobody listens: the port of the discard protocol. */
const NOWHERE = 'https://127.0.0.1:9';

const [program = '', folder = ''] = process.argv.slice(2);
const temporary = mkdtempSync(join(tmpdir(), 'fill-compile-cache-'));
const kubeconfig = join(temporary, 'kubeconfig');
writeFileSync(
  kubeconfig,
  JSON.stringify({
    'current-context': 'none',
    contexts: [{ name: 'none', context: { cluster: 'none', user: 'none' } }],
    clusters: [{ name: 'none', cluster: { server: NOWHERE } }],
    users: [{ name: 'none', user: {} }],
  }),
);
const inCluster = ['--cluster', '--kubeconfig', kubeconfig, '--namespace', 'none', '--shutdown-delay', '0'];
const listeners = ['--host', '127.0.0.1', '--port', '0', '--admin-port', '0'];
const child = spawn(process.execPath, [program, 'serve', ...inCluster, ...listeners, '--cert-dir', temporary], {
  stdio: ['ignore', 'pipe', 'inherit'],
  env: { ...process.env, NODE_COMPILE_CACHE: folder },
  timeout: TIMEOUT_MS,
});
const ended = once(child, 'exit');

let printed = '';
for await (const line of createInterface(child.stdout)) {
  printed += `${line}\n`;
  if (line.includes('"msg":"serving"')) child.kill('SIGTERM');
}
const [code] = await ended;
if (code !== 0) throw new Error(`the program did not start and stop as it should:\n${printed}`);
