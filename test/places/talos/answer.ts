import { createConnection, createServer } from 'node:net';

/*
 * node answer.ts ssh ADDRESS PORT         a server that says what an SSH server says
 * node answer.ts tls ADDRESS PORT TARGET  a relay to apid of another address
 */
const [kind = '', address = '', port = '', target = ''] = process.argv.slice(2);

createServer((near) => {
  near.on('error', () => near.destroy());
  if (kind === 'ssh') {
    near.write('SSH-2.0-OpenSSH_9.9\r\n');
    return;
  }
  const far = createConnection(50_000, target);
  near.pipe(far).pipe(near);
  far.on('error', () => near.destroy());
}).listen(Number(port), address, () => process.stdout.write('listening\n'));
