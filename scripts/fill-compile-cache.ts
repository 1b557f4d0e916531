import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

/**
 * Starts a program's webhook, and stops it once it serves, so that Node.js keeps what V8 has compiled of it in
 * NODE_COMPILE_CACHE. The Dockerfile has it run by the Node.js of the image, which alone can use what comes of it.
 *
 *     NODE_COMPILE_CACHE=/app/compile-cache node fill-compile-cache.ts /app/taintkeeper.cjs
 */
const [program = ''] = process.argv.slice(2);
const args = ['serve', '--host', '127.0.0.1', '--port', '0', '--admin-port', '0', '--cert-dir', '/tmp/certs'];
const child = spawn(process.execPath, [program, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
const ended = once(child, 'exit');

let printed = '';
for await (const line of createInterface(child.stdout)) {
  printed += `${line}\n`;
  if (line.includes('"msg":"serving"')) child.kill('SIGTERM');
}
const [code] = await ended;
if (code !== 0) throw new Error(`the program did not start and stop as it should:\n${printed}`);
