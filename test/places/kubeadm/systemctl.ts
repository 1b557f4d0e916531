import { rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { text } from 'node:stream/consumers';
import type { Service } from '../../real-node/service.ts';

/** What stands in for systemd on a machine: a program `systemctl` that asks the process which supervises the machine's units. */
export interface Systemctl {
  /** The text of the program. */
  readonly script: string;
  /** Starts a unit, unless it runs. */
  start(unit: string): void;
  close(): Promise<void>;
}

interface Answer {
  readonly code: number;
  readonly output?: string;
}

/**
 * @param socket path of the socket to make, which the machine sees, too
 * @param starts how each unit is started for the first time, by its name
 */
export async function serveSystemctl(
  socket: string,
  starts: Readonly<Record<string, () => Service>>,
): Promise<Systemctl> {
  const units = new Map<string, Service>();
  const running = new Set<string>();
  rmSync(socket, { force: true });
  const server = createServer(async (request, response) => {
    const words = (await text(request)).split(' ').filter((word) => word !== '' && !word.startsWith('-'));
    const [verb = '', unit = ''] = words.map((word) => word.replace(/\.service$/, ''));
    const { code, output = '' } = await answer(verb, unit).catch((error: Error) => ({
      code: 1,
      output: error.message,
    }));
    response.end(`${code}\n${output}`);
  });
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(socket, resolve));
  return { script: script(socket), start, close: () => closed(server) };

  /** The exit codes are those of systemctl(1). */
  async function answer(verb: string, unit: string): Promise<Answer> {
    const isKnown = Object.hasOwn(starts, unit);
    switch (verb) {
      case 'daemon-reload':
      case 'enable':
        return { code: 0 };
      case 'is-enabled':
        return { code: isKnown ? 0 : 1 };
      case 'is-active':
        return running.has(unit) ? { code: 0, output: 'active\n' } : { code: 3, output: 'inactive\n' };
      case 'status':
        return isKnown ? { code: 0, output: 'Loaded: loaded\n' } : { code: 4, output: 'could not be found\n' };
      case 'stop':
        await stop(unit);
        return { code: 0 };
      case 'start':
      case 'restart':
        if (!isKnown) return { code: 5, output: `Unit ${unit} not found.\n` };
        if (verb === 'restart') await stop(unit);
        start(unit);
        return { code: 0 };
      default:
        return { code: 1, output: `${verb} is not known here\n` };
    }
  }

  async function stop(unit: string): Promise<void> {
    if (running.delete(unit)) await units.get(unit)?.stop();
  }

  function start(unit: string): void {
    if (running.has(unit)) return;
    const known = units.get(unit);
    const first = starts[unit];
    if (known) known.start();
    else if (first) units.set(unit, first());
    running.add(unit);
  }
}

function script(socket: string): string {
  return `#!/bin/bash
answer=$(curl --silent --show-error --max-time 60 --unix-socket '${socket}' --data-binary "$*" http://systemd/) || exit 1
printf %s "\${answer#*$'\\n'}"
exit "\${answer%%$'\\n'*}"
`;
}

function closed(server: Server): Promise<void> {
  server.closeAllConnections();
  return new Promise((resolve) => server.close(() => resolve()));
}
