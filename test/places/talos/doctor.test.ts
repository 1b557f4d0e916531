import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { waitUntil } from '../../control-plane/wait-until.ts';
import { nodeAddress } from '../../real-node/addresses.ts';
import { skipFor } from '../../skip-for.ts';
import { printOnFailure, startTalosLab, type TalosLab } from './lab.ts';
import { LAB, type Machine } from './machine.ts';
import { TALOS_VERSION } from './programs.ts';
import { obstacleToTalosMachines } from './provide.ts';
import { type Context, readContext, writeTalosconfig } from './talosconfigs.ts';

const BOOT_TIMEOUT_MS = 180_000;
const CLOCK = join(import.meta.dirname, '..', '..', 'e2e', 'skewed-clock.ts');
const INSIDE = join(import.meta.dirname, 'answer.ts');
const DAY_MS = 86_400_000;
const [CP, WORKER, MAINTENANCE, ABSENT] = [1, 2, 3, 9].map(nodeAddress) as [string, string, string, string];

describe(`taintkeeper talos doctor and Talos ${TALOS_VERSION}`, skipFor(obstacleToTalosMachines()), () => {
  let lab: TalosLab;
  let controlPlane: Machine;
  let own: Context;
  let foreign: Context;
  /** Of other roles, by role, and of a certificate that has expired. */
  const issued = new Map<string, Context>();

  beforeAll(async () => {
    lab = await startTalosLab();
    const generated = await lab.generate('own');
    controlPlane = lab.machine('cp1', 1);
    const boots = [
      controlPlane.boot(generated.controlPlane),
      lab.machine('w1', 2).boot(generated.worker),
      lab.machine('m1', 3).boot(''),
      lab.start('relay', [process.execPath, INSIDE, 'tls', LAB, '50001', CP], 'listening'),
      lab.start('ssh', [process.execPath, INSIDE, 'ssh', LAB, '50000'], 'listening'),
    ];
    own = readContext(generated.talosconfig);
    foreign = readContext((await lab.generate('foreign')).talosconfig);
    await Promise.all(boots);
    const admin = writeTalosconfig(lab.workspace, 'admin', { ...own, endpoints: [CP], nodes: [CP] });
    await waitUntil(
      async () => {
        const { code } = await lab.run([
          lab.talosctlPath,
          '--talosconfig',
          admin,
          '--nodes',
          `${CP},${WORKER}`,
          'version',
        ]);
        return code === 0 || undefined;
      },
      { timeoutMs: BOOT_TIMEOUT_MS, otherwise: () => `talosctl gets no answer:\n${lab.logs()}` },
    );
    const issue = async (name: string, ...args: string[]) => {
      const file = lab.workspace.path(`issued-${name}`);
      await lab.talosctl(['--talosconfig', admin, 'config', 'new', file, ...args]);
      issued.set(name, readContext(file));
    };
    for (const role of ['os:reader', 'os:operator', 'os:etcd:backup']) {
      await issue(role.replaceAll(':', '-'), '--roles', role);
    }
    await issue('expired', '--crt-ttl', '1s');
  }, BOOT_TIMEOUT_MS);
  afterAll(() => lab?.stop());
  afterEach(printOnFailure(() => lab));

  interface Situation {
    readonly what: string;
    /** What differs from a talosconfig of an administrator, with the control plane as endpoint and node. */
    readonly context?: (contexts: { own: Context; foreign: Context; issued: (name: string) => Context }) => Context;
    readonly args?: readonly string[];
    readonly clockAheadMs?: number;
    readonly code: 0 | 1 | 2;
    /** Lines of what is said, each as `STATE NAME: EVIDENCE`. */
    readonly says: readonly RegExp[];
    /** What would mislead. */
    readonly never?: RegExp;
  }

  async function diagnose({ what, context, args = [], clockAheadMs }: Situation) {
    const changes = context?.({ own, foreign, issued: (name) => issued.get(name) ?? {} });
    const file = writeTalosconfig(lab.workspace, what.replaceAll(/\W+/g, '-'), {
      ...own,
      endpoints: [CP],
      nodes: [CP],
      ...changes,
    });
    const env =
      clockAheadMs === undefined ? {} : { NODE_OPTIONS: `--import ${CLOCK}`, CLOCK_AHEAD_MS: `${clockAheadMs}` };
    const command = ['talos', 'doctor', '--talosconfig', file, '--all', '-o', 'json', ...args];
    const { code, stdout, stderr } = await lab.taintkeeper(command, { env });
    const { checks } = JSON.parse(stdout || `{"checks":[],"stderr":${JSON.stringify(stderr)}}`) as {
      checks: { name: string; state: string; evidence: string }[];
    };
    return { code, stderr, said: checks.map(({ name, state, evidence }) => `${state} ${name}: ${evidence}`) };
  }

  async function check(situation: Situation) {
    const { code, said, stderr } = await diagnose(situation);
    expect
      .soft(said, stderr)
      .toEqual(expect.arrayContaining(situation.says.map((text) => expect.stringMatching(text))));
    if (situation.never) expect.soft(said.join('\n')).not.toMatch(situation.never);
    expect(code).toBe(situation.code);
  }

  const version = (address: string, rest = '$') =>
    new RegExp(`^ok version: ${address} runs Talos v${TALOS_VERSION}${rest}`);
  const problem = (text: string | RegExp) => new RegExp(`^problem ${typeof text === 'string' ? text : text.source}`);

  const situations: Situation[] = [
    { what: 'a healthy node', code: 0, says: [/^ok talosconfig/, /^ok client certificate/, version(CP)] },
    {
      what: 'several nodes',
      args: ['--nodes', `${CP},${WORKER}`],
      code: 0,
      says: [version(CP), version(WORKER)],
    },
    { what: 'the role os:reader', context: ({ issued }) => issued('os-reader'), code: 0, says: [version(CP)] },
    { what: 'the role os:operator', context: ({ issued }) => issued('os-operator'), code: 0, says: [version(CP)] },
    {
      what: 'a role that may not ask for the version',
      context: ({ issued }) => issued('os-etcd-backup'),
      code: 2,
      says: [/^skipped version: .*may not ask for the version/],
    },
    {
      what: 'a client certificate that has expired',
      context: ({ issued }) => issued('expired'),
      code: 1,
      says: [problem('client certificate: it expired at ')],
    },
    {
      what: 'the talosconfig of another cluster',
      context: ({ foreign: { ca, crt, key } }) => ({ ca, crt, key }) as Context,
      code: 1,
      says: [problem(`${CP}:50000: its certificate is of another CA .*of another cluster, or older than the machine`)],
    },
    {
      what: 'the client certificate of another cluster',
      context: ({ foreign: { crt, key } }) => ({ crt, key }) as Context,
      code: 1,
      says: [problem('client certificate: it is not signed by the CA of its own context')],
    },
    {
      what: 'the CA of another cluster',
      context: ({ foreign: { ca } }) => ({ ca }) as Context,
      code: 1,
      says: [problem('client certificate: it is not signed by the CA of its own context')],
      never: /its CA is being replaced|\\u\{|:SSL routines:/,
    },
    {
      what: 'the key of another certificate',
      context: ({ foreign: { key } }) => ({ key }) as Context,
      code: 1,
      says: [problem('client certificate: .*key')],
    },
    {
      what: 'no CA',
      context: () => ({ ca: undefined }) as unknown as Context,
      code: 1,
      says: [problem('talosconfig: context one has no CA that can be read')],
    },
    {
      what: 'no endpoints',
      context: () => ({ endpoints: [], nodes: [] }),
      code: 1,
      says: [problem('talosconfig: context one has no endpoints')],
    },
    {
      what: 'a worker as endpoint',
      context: () => ({ endpoints: [WORKER], nodes: [CP] }),
      code: 1,
      says: [problem(`${WORKER}:50000: .*worker`)],
    },
    {
      what: 'a closed port',
      context: () => ({ endpoints: [`${CP}:50099`], nodes: [] }),
      code: 1,
      says: [problem(`${CP}:50099: port 50099 is closed`)],
    },
    {
      what: 'an address without a machine',
      context: () => ({ endpoints: [ABSENT], nodes: [] }),
      args: ['--timeout', '8000'],
      code: 1,
      says: [problem(`${ABSENT}:50000: port 50000 (cannot be reached|gives no answer)`)],
    },
    {
      what: 'a name that is unknown',
      context: () => ({ endpoints: ['unknown.invalid'], nodes: [] }),
      code: 1,
      says: [problem('unknown.invalid:50000: port 50000 cannot be reached')],
    },
    {
      what: 'a port without TLS',
      context: () => ({ endpoints: [LAB], nodes: [] }),
      code: 1,
      says: [problem(`${LAB}:50000: port 50000 speaks no TLS`)],
      never: /\\u\{|:SSL routines:/,
    },
    {
      what: 'an address that the certificate does not name',
      context: () => ({ endpoints: [`${LAB}:50001`], nodes: [] }),
      code: 1,
      says: [problem(`${LAB}:50001: its certificate is not for ${LAB}, but for .*${CP}`)],
    },
    {
      what: 'a clock that is behind',
      clockAheadMs: -2 * DAY_MS,
      code: 1,
      says: [problem(".*this machine's clock is behind")],
    },
    {
      what: 'a clock that is ahead',
      args: ['--nodes', `${CP},${WORKER}`],
      clockAheadMs: 3 * DAY_MS,
      code: 1,
      says: [problem(`${CP}:50000: clocks: .*this machine's clock is ahead`)],
    },
    {
      what: 'a clock that is years ahead',
      args: ['--nodes', `${CP},${WORKER}`],
      clockAheadMs: 15 * 365 * DAY_MS,
      code: 1,
      says: [problem(`.*clock is ahead`)],
      never: /client certificate: it expired at/,
    },
    {
      what: 'a machine in maintenance mode',
      context: () => ({ endpoints: [MAINTENANCE], nodes: [] }),
      code: 1,
      says: [
        problem(`${MAINTENANCE}:50000: it asks for no client certificate.*as Talos in maintenance mode`),
        version(MAINTENANCE, ', in maintenance mode$'),
      ],
    },
    {
      what: 'a machine in maintenance mode among others',
      args: ['--nodes', `${CP},${WORKER},${MAINTENANCE}`],
      code: 1,
      says: [version(CP), version(WORKER), version(MAINTENANCE, ', in maintenance mode$')],
    },
  ];

  it.each(situations)('$what', check);

  it('a node that only the endpoint reaches', async () => {
    await lab.namespaces.run(['ip', 'route', 'add', 'unreachable', `${WORKER}/32`]);
    try {
      await check({
        what: 'forwarded',
        context: () => ({ endpoints: [CP], nodes: [WORKER] }),
        code: 0,
        says: [version(WORKER, ` through ${CP}$`)],
      });
    } finally {
      await lab.namespaces.run(['ip', 'route', 'delete', 'unreachable', `${WORKER}/32`]);
    }
  });

  it('machined hangs', async () => {
    controlPlane.signal('SIGSTOP');
    try {
      await check({
        what: 'hanging',
        code: 1,
        says: [problem(`${CP}: Talos' API accepts the connection and does not answer`)],
      });
    } finally {
      controlPlane.signal('SIGCONT');
    }
  });
});
