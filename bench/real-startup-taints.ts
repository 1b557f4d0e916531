import { parseArgs } from 'node:util';
import { provideRealNodeOrExit } from '../test/real-node/provide.ts';
import { isTooEarly, type Registration, startRegisteringNodes } from '../test/real-node/registrations.ts';
import { printHead, printRow } from './markdown-table.ts';

/**
 * The same question as startup-taints.ts, with real kubelets and containers: to how many nodes is a pod without the toleration bound before
 * the pod of the DaemonSet is Ready there? Some nodes are deleted and register again. Linux only, as root. Prints a Markdown table.
 *
 *     npx node bench/real-startup-taints.ts [--workers N] [--times N] [--late-ms MS ...] [--image FILE]
 */
const { values: flags } = parseArgs({
  options: {
    workers: { type: 'string', default: '5' },
    /** How often each of them registers, for each row. */
    times: { type: 'string', default: '11' },
    /** An archive of the product's image; without it, the Dockerfile is built. */
    image: { type: 'string' },
    /** How long the controller takes until it writes the taint. */
    'late-ms': { type: 'string', multiple: true, default: ['1000'] },
  },
});
const times = Number(flags.times);

if (flags.image === undefined) await provideRealNodeOrExit();
const nodes = await startRegisteringNodes(Number(flags.workers), flags.image);
try {
  printHead('taint set by', 'registrations', 'with a pod before the DaemonSet was Ready');
  await nodes.requireTaint();
  print('taintkeeper, `ensure: UntilReady`', await nodes.register(times, follow));
  for (const lateMs of flags['late-ms']) {
    await nodes.taintLate(Number(lateMs));
    print(`a controller, ${lateMs} ms after its watch`, await nodes.register(times, follow));
  }
} finally {
  await nodes.stop();
}

function print(name: string, registrations: readonly Registration[]): void {
  printRow(name, String(registrations.length), String(registrations.filter(isTooEarly).length));
}

function follow(registration: Registration): void {
  process.stderr.write(`${registration.node}: ${isTooEarly(registration) ? 'too early' : 'in time'}\n`);
}
