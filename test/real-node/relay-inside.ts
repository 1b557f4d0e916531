import { createConnection, createServer } from 'node:net';

/*
 * node relay-inside.ts SOCKET HOST PORT: the end of a relay that is in the lab (see relay.ts).
 */
const [socket = '', host = '', port = ''] = process.argv.slice(2);

createServer((near) => {
  const far = createConnection(Number(port), host);
  near.pipe(far).pipe(near);
  near.on('error', () => far.destroy());
  far.on('error', () => near.destroy());
}).listen(socket, () => process.stdout.write('listening\n'));
