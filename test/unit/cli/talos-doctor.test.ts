import { X509Certificate } from 'node:crypto';
import { beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { parse, stringify } from 'yaml';
import type { Diagnosis } from '../../../src/doctor/diagnosis.ts';
import { issueNamed } from '../certs/authorities.ts';
import { needsOpenssl } from '../certs/openssl.ts';
import { stopClock } from '../stopped-clock.ts';
import {
  type Api,
  clientPair,
  closedPort,
  outOfTime,
  type Pair,
  servingPair,
  startApid,
  startOpenssl,
  startSilent,
  startSsh,
  talosCa,
  talosconfig,
  UNIMPLEMENTED,
} from '../talos/apid.ts';
import { ed25519Pair, served } from '../talos/ed25519.ts';
import { temporaryFile } from '../temporary-directory.ts';
import { run } from './run-command.ts';

let ca: Pair;
let client: Pair;
beforeAll(async () => {
  ca = await talosCa();
  client = await clientPair(ca);
});

const file = (text: string) => temporaryFile('talosconfig', text);
/** The result, and the checks of what was dialled by their states. */
async function diagnosed(text: string, ...args: string[]) {
  const outcome = await run('talos', 'doctor', '--talosconfig', file(text), '-o', 'json', ...args);
  const { result, checks } = JSON.parse(outcome.stdout) as Diagnosis;
  const problems = checks.filter(({ state }) => state === 'problem');
  return {
    code: outcome.code,
    result,
    checks,
    problems: problems.map(({ name, evidence }) => `${name}: ${evidence}`),
  };
}

it('is healthy where the certificates are of one CA and valid', async () => {
  const at = await startApid(await servingPair(ca), ca);
  const { stdout, code } = await run('talos', 'doctor', '--talosconfig', file(talosconfig([at], ca, client)));
  expect({ code, stdout }).toEqual({ code: 0, stdout: 'healthy: 4 checks, no problems\n' });
  const { checks } = await diagnosed(talosconfig([at], ca, client));
  expect(checks.map(({ name, state }) => [name, state])).toEqual([
    ['talosconfig', 'ok'],
    ['client certificate', 'ok'],
    [at, 'ok'],
    ['version', 'ok'],
  ]);
});

it('is healthy with the keys that talosctl writes: Ed25519, under a label that OpenSSL does not know', async () => {
  const talos = ed25519Pair({ organization: 'talos' });
  const admin = ed25519Pair({ organization: 'os:admin' }, talos);
  expect(admin.key).toMatch(/^-----BEGIN ED25519 PRIVATE KEY-----\n/);
  const at = await startApid(served(ed25519Pair({ commonName: 'cp-1' }, talos, '127.0.0.1')), talos);
  const { code, result, problems } = await diagnosed(talosconfig([at], talos, admin));
  expect({ code, result, problems }).toEqual({ code: 0, result: 'healthy', problems: [] });
});

describe('the network is to blame', () => {
  it.each([
    { what: 'a closed port', start: closedPort, says: /is closed: .*ECONNREFUSED/ },
    {
      what: 'a port that gives no answer',
      start: startSilent,
      // Nothing else is asked, so that nothing can be late.
      args: ['--timeout', '300'],
      says: /gives no answer: .*timed out: no connection within 300 ms/,
    },
    {
      what: 'something else that listens',
      start: startSsh,
      says: /: port \d+ speaks no TLS: something other than Talos listens there \(wrong version number\)$/,
    },
  ])('for $what', async ({ start, args = [], says }) => {
    const at = await start();
    const { code, result, problems } = await diagnosed(talosconfig([at], ca, client), ...args);
    expect({ code, result }).toEqual({ code: 1, result: 'network' });
    expect(problems).toEqual([expect.stringMatching(says)]);
  });

  it('for a closed port, with a remedy that names the port that was dialled', async () => {
    const at = await closedPort();
    const { checks } = await diagnosed(talosconfig([at], ca, client));
    expect(checks.find(({ name }) => name === at)?.remedy).toBe(
      `see the console of the machine, and check that no firewall on the way closes port ${at.split(':')[1]}`,
    );
  });

  it('for one of several addresses, those of --nodes included', async () => {
    const well = await startApid(await servingPair(ca), ca);
    const closed = await closedPort();
    const { result, problems } = await diagnosed(talosconfig([well], ca, client), '--nodes', `${well},${closed}`);
    expect(result).toBe('network');
    expect(problems).toEqual([expect.stringContaining(`${closed}: port `)]);
  });
});

describe('a certificate is to blame', () => {
  it('where the machine is of another cluster', async () => {
    const other = await talosCa();
    const { result, checks, problems } = await diagnosed(
      talosconfig([await startApid(await servingPair(other), other)], ca, client),
    );
    const names = [other, ca].map(({ cert }) => new X509Certificate(cert).subject.replace('\n', ', '));
    expect(result).toBe('certificate');
    expect(problems).toEqual([
      expect.stringMatching(
        `its certificate is of another CA \\(issuer ${names[0]}\\) than the talosconfig's \\(${names[1]}, made on [-\\d]{10}\\)`,
      ),
    ]);
    // There is no other context to choose.
    expect(checks.find(({ state }) => state === 'problem')?.remedy).toMatch(
      /^create a new talosconfig .*: talosctl gen config --with-secrets secrets\.yaml --output-types talosconfig /,
    );
  });

  it('where the machine is of another cluster, for which there may be another context', async () => {
    const other = await talosCa();
    const at = await startApid(await servingPair(other), other);
    const two = parse(talosconfig([at], ca, client)) as { contexts: object };
    const { checks } = await diagnosed(stringify({ ...two, contexts: { ...two.contexts, staging: {} } }));
    expect(checks.find(({ state }) => state === 'problem')?.remedy).toMatch(
      /^if another context is that of this cluster \(staging\), choose it: talosctl config context NAME; or create a new /,
    );
  });

  it.each([
    { what: 'that has expired', life: { from: -400, to: -1 }, says: /^client certificate: it expired at / },
    {
      what: 'that is not valid yet',
      life: { from: 1, to: 300 },
      says: /^client certificate: it is not valid before .*clock is behind/,
    },
  ])('of the client, $what; what follows from it is not said again', async ({ life, says }) => {
    const at = await startApid(await servingPair(ca), ca);
    const { result, problems, checks } = await diagnosed(talosconfig([at], ca, await clientPair(ca, life)));
    expect(result).toBe('certificate');
    expect(problems).toEqual([expect.stringMatching(says)]);
    expect(checks.find(({ name }) => name === at)).toMatchObject({ state: 'skipped' });
  });

  it('of the client, that expires soon, is a note', async () => {
    const at = await startApid(await servingPair(ca), ca);
    const { code, checks } = await diagnosed(talosconfig([at], ca, await clientPair(ca, { to: 10 })));
    expect(code).toBe(0);
    expect(checks[1]).toMatchObject({
      state: 'note',
      evidence: expect.stringMatching(/^it expires at .* \(os:admin\)$/),
    });
  });

  it('of the client, that another CA has issued', async () => {
    const at = await startApid(await servingPair(ca), ca);
    const { problems } = await diagnosed(talosconfig([at], ca, await clientPair(await talosCa())));
    expect(problems).toEqual([
      'client certificate: it is not signed by the CA of its own context: parts of two talosconfigs are mixed',
    ]);
  });

  it('of the client, whose key is another one', async () => {
    const { key } = await clientPair(ca);
    const { problems } = await diagnosed(
      talosconfig([await startApid(await servingPair(ca), ca)], ca, { ...client, key }),
    );
    expect(problems).toEqual(['client certificate: the private key does not belong to the certificate']);
  });

  it('where the machine accepts another CA than its own is of', async () => {
    const at = await startApid(await servingPair(ca), await talosCa());
    const { result, problems } = await diagnosed(talosconfig([at], ca, client));
    expect(result).toBe('certificate');
    expect(problems).toEqual([expect.stringMatching(/it refuses the client certificate/)]);
  });
});

describe('a clock is to blame', () => {
  it.each([
    { what: 'ahead', life: { from: 0.2, to: 1.2 }, says: "the node's clock is ahead, or this machine's is behind" },
    {
      what: 'behind',
      life: { from: -1.2, to: -0.2 },
      says: "the node's clock is behind, or it has not renewed it, or this machine's is ahead",
    },
  ])('that of a node is $what', async ({ life, says }) => {
    const wrong = await startApid(await servingPair(ca, life), ca);
    const right = await startApid(await servingPair(ca), ca);
    const { result, problems } = await diagnosed(talosconfig([wrong, right], ca, client));
    expect(result).toBe('certificate');
    expect(problems).toEqual([expect.stringMatching(new RegExp(`^${wrong}: clocks: .*${says}$`))]);
  });

  it('that of this machine, where all nodes disagree with it', async () => {
    const early = { from: 0.2, to: 1.2 };
    const both = await Promise.all([1, 2].map(async () => startApid(await servingPair(ca, early), ca)));
    const { problems } = await diagnosed(talosconfig(both, ca, client));
    expect(problems).toHaveLength(2);
    for (const problem of problems)
      expect(problem).toContain("this machine's clock is behind: the certificates of all nodes show it");
  });
});

describe('the clock of this machine is ahead, so that the client certificate looks expired', () => {
  /** Only programs in JavaScript see it: the servers go on with the right time. */
  function setClock(aheadDays: number): void {
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + aheadDays * 86_400_000 });
    onTestFinished(() => void vi.useRealTimers());
  }

  it.each([
    { nodes: 1, says: 'by it, the client certificate is not valid either' },
    { nodes: 2, says: 'the certificates of all nodes show it' },
  ])('which the certificates of $nodes nodes show', async ({ nodes, says }) => {
    const all = await Promise.all(Array.from({ length: nodes }, async () => startApid(await servingPair(ca), ca)));
    setClock(400);
    const { code, result, problems, checks } = await diagnosed(talosconfig(all, ca, client));
    expect({ code, result }).toEqual({ code: 1, result: 'certificate' });
    expect(problems).toEqual(
      all.map((at) => expect.stringMatching(`^${at}: clocks: .*: this machine's clock is ahead: ${says}$`)),
    );
    expect(checks.find(({ name }) => name === 'client certificate')).toMatchObject({
      state: 'skipped',
      evidence: expect.stringMatching(/^by this machine's clock, it is not valid after .* clock is ahead: see /),
    });
    expect(checks.find(({ state }) => state === 'problem')?.remedy).toBe('set the clock: timedatectl set-ntp true');
  });

  it('which only the node shows that accepts it', async () => {
    const at = await startApid(await servingPair(ca, { to: 1000 }), ca);
    setClock(400);
    const { problems } = await diagnosed(talosconfig([at], ca, client));
    expect(problems).toEqual([
      expect.stringMatching(
        `^client certificate: clocks: by this machine's clock, it is not valid after .*, and ${at} accepts it: this machine's clock is ahead, or the node's is behind$`,
      ),
    ]);
  });

  it.each(['first', 'last'])('which one of two nodes shows, where the one of another cluster is %s', async (place) => {
    const other = await talosCa();
    const stranger = await startApid(await servingPair(other), other);
    const own = await startApid(await servingPair(ca), ca);
    setClock(400);
    const both = place === 'first' ? [stranger, own] : [own, stranger];
    const { checks } = await diagnosed(talosconfig(both, ca, client));
    expect(checks.find(({ name }) => name === 'client certificate')?.state).toBe('skipped');
  });

  it('which a node shows, and not one whose certificate is not valid yet', async () => {
    const later = await startApid(await servingPair(ca, { from: 500, to: 600 }), ca);
    const expired = await startApid(await servingPair(ca), ca);
    setClock(400);
    const { checks } = await diagnosed(talosconfig([later, expired], ca, client));
    expect(checks.find(({ name }) => name === 'client certificate')).toMatchObject({
      state: 'skipped',
      evidence: expect.stringMatching(`clock is ahead: see ${expired}$`),
    });
  });

  it('which is said of the client certificate, where the nodes are of another cluster', async () => {
    const other = await talosCa();
    const both = await Promise.all([1, 2].map(async () => startApid(await servingPair(other), other)));
    setClock(400);
    const { checks } = await diagnosed(talosconfig(both, ca, client));
    expect(checks.find(({ name }) => name === 'client certificate')).toMatchObject({
      state: 'problem',
      evidence: expect.stringMatching(
        /^clocks: .*, and the certificates of all nodes show it: this machine's clock is /,
      ),
    });
  });

  it('or is right, where the node says by TLS that it has expired', needsOpenssl, async () => {
    const at = await startOpenssl(await servingPair(ca, { to: 1000 }), ca, 400);
    setClock(400);
    const { problems } = await diagnosed(talosconfig([at], ca, client));
    expect(problems).toEqual([expect.stringMatching(/^client certificate: it expired at /)]);
  });
});

it('of a context whose CA alone is wrong, one thing is said, and nothing of OpenSSL', needsOpenssl, async () => {
  const at = await startOpenssl(await servingPair(ca), ca);
  const text = talosconfig([at], await talosCa(), client);
  const { code, result, problems, checks } = await diagnosed(text);
  expect({ code, result }).toEqual({ code: 1, result: 'certificate' });
  expect(problems).toEqual([
    'client certificate: it is not signed by the CA of its own context: parts of two talosconfigs are mixed',
  ]);
  expect(checks.filter(({ name }) => name === at || name === 'version')).toEqual([
    expect.objectContaining({ state: 'skipped', evidence: expect.stringMatching(/: see client certificate$/) }),
    expect.objectContaining({
      state: 'skipped',
      evidence: '127.0.0.1 does not say that it is Talos in maintenance mode (alert certificate required)',
    }),
  ]);
  const { stdout } = await run('talos', 'doctor', '--talosconfig', file(text), '--all');
  expect(stdout).not.toMatch(/routines|\\u\{|error:0/);
});

describe('what the server says by TLS', needsOpenssl, () => {
  it('that the client certificate has expired: its clock is ahead', async () => {
    const at = await startOpenssl(await servingPair(ca), ca, 400);
    const { result, problems } = await diagnosed(talosconfig([at], ca, client));
    expect(result).toBe('certificate');
    expect(problems).toEqual([
      expect.stringMatching(/clocks: it treats the client certificate as expired, .*: the node's clock is ahead$/),
    ]);
  });

  it('that it does not know the CA', async () => {
    const at = await startOpenssl(await servingPair(ca), await talosCa());
    const { problems } = await diagnosed(talosconfig([at], ca, client));
    expect(problems).toEqual([
      expect.stringMatching(/it refuses the client certificate \(alert unknown ca\): its CA was replaced since/),
    ]);
  });
});

describe('the configuration is to blame', () => {
  it('where the certificate is not for the address', async () => {
    const at = await startApid(await servingPair(ca, undefined, '10.0.0.5'), ca);
    const { result, problems } = await diagnosed(talosconfig([at], ca, client));
    expect(result).toBe('configuration');
    expect(problems).toEqual([`${at}: its certificate is not for 127.0.0.1, but for 10.0.0.5`]);
  });

  it('where the certificate has the name only as the Common Name, which talosctl ignores', async () => {
    const at = await startApid(await issueNamed('localhost', [], { ca }), ca);
    const byName = at.replace('127.0.0.1', 'localhost');
    const { result, problems } = await diagnosed(talosconfig([byName], ca, client));
    expect(result).toBe('configuration');
    expect(problems).toEqual([`${byName}: its certificate is not for localhost, but for no name at all`]);
  });

  it('where the machine is in maintenance mode', async () => {
    const at = await startApid(await servingPair(await talosCa()));
    const { result, checks, problems } = await diagnosed(talosconfig([at], ca, client));
    expect(result).toBe('configuration');
    expect(problems).toEqual([
      expect.stringMatching(/its API answers as Talos in maintenance mode does, without a configuration$/),
    ]);
    // Anybody can answer that: a configuration goes to nobody but the machine whose console shows the fingerprint.
    const { remedy } = checks.find(({ state }) => state === 'problem') ?? {};
    expect(remedy).toBe(
      'talosctl apply-config --insecure --nodes 127.0.0.1 --cert-fingerprint FINGERPRINT --file FILE, with the fingerprint that the console of the machine shows',
    );
  });

  it('where the machine is in maintenance mode, and its certificate has no issuer, as that of Talos', async () => {
    const self = ed25519Pair({ commonName: 'maintenance-service.talos.dev' }, ed25519Pair({}), '127.0.0.1');
    expect(new X509Certificate(self.cert).issuer).toBeUndefined();
    const at = await startApid(served(self));
    const { code, result, problems } = await diagnosed(talosconfig([at], ca, client));
    expect({ code, result }).toEqual({ code: 1, result: 'configuration' });
    expect(problems).toEqual([expect.stringMatching(/its API answers as Talos in maintenance mode does/)]);
  });

  it.each<{ what: string; api: Api }>([
    { what: 'knows no such call, as other services', api: () => UNIMPLEMENTED },
    { what: 'gives no answer', api: () => outOfTime('silent') },
  ])('not where a stranger that asks for no client certificate $what: no secret is to go there', async ({ api }) => {
    const at = await startApid(await servingPair(await talosCa()), undefined, api);
    stopClock();
    const { result, checks, problems } = await diagnosed(talosconfig([at], ca, client), '-f', file('machine: {}\n'));
    expect(result).toBe('certificate');
    expect(problems).toEqual([
      expect.stringMatching(/its certificate is of another CA .*, and yet it does not refuse the client certificate: /),
    ]);
    expect(JSON.stringify(checks)).not.toMatch(/apply-config|in maintenance mode,/);
  });

  it('not where the CA of the machine is being replaced: it accepts the old one still', async () => {
    const at = await startApid(await servingPair(await talosCa()), ca);
    const { result, checks, problems } = await diagnosed(talosconfig([at], ca, client));
    expect(result).toBe('certificate');
    expect(problems).toEqual([expect.stringMatching(/: its CA is being replaced, or /)]);
    expect(JSON.stringify(checks)).not.toMatch(/apply-config|in maintenance mode,/);
  });

  it('where the context has no endpoints', async () => {
    const { result, problems } = await diagnosed(talosconfig([], ca, client));
    expect(result).toBe('configuration');
    expect(problems).toEqual(['talosconfig: context home has no endpoints']);
  });
});

it('a context without CA or certificate is not usable', async () => {
  const { problems } = await diagnosed(talosconfig([await startApid(await servingPair(ca), ca)]));
  expect(problems).toEqual([
    'talosconfig: context home has no CA that can be read',
    'client certificate: context home has no client certificate that can be read',
  ]);
});

it('a context of Omni has neither CA nor certificate, and what that hides is not guessed', async () => {
  const at = await startApid(await servingPair(ca));
  const auth = { siderov1: { identity: 'a@example.com' } };
  const { code, result, problems, checks } = await diagnosed(talosconfig([at], undefined, undefined, { auth }));
  expect({ code, result, problems }).toEqual({ code: 2, result: 'unknown', problems: [] });
  expect(checks.find(({ name }) => name === at)).toMatchObject({ state: 'ok' });
});

it('a proxy is not gone through, which is said', async () => {
  const at = await startApid(await servingPair(ca), ca);
  const { code, checks } = await diagnosed(talosconfig([at], ca, client, { 'proxy-url': 'socks5://proxy:1080' }));
  expect(code).toBe(0);
  expect(checks[1]).toMatchObject({ name: 'proxy', state: 'note' });
});

describe('what is no talosconfig ends in 2', () => {
  it.each([
    {
      what: 'a kubeconfig',
      text: '{ "kind": "Config", "contexts": [] }',
      says: 'this is no talosconfig: it has no contexts',
    },
    { what: 'no YAML', text: 'key: "SECRET" SECRET', says: 'this is no YAML' },
    {
      what: 'an unknown context',
      text: talosconfig([]),
      args: ['--context', 'work'],
      says: 'there is no context work: it has home',
    },
    { what: 'no current context', text: '{"contexts":{"a":{},"b":{}}}', says: 'no context is chosen, and it has a, b' },
  ])('$what', async ({ text, args = [], says }) => {
    const { code, stdout, stderr } = await run('talos', 'doctor', '--talosconfig', file(text), ...args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(says);
    expect(stderr).not.toContain('SECRET');
  });

  it('nothing at the usual places', async () => {
    vi.stubEnv('TALOSCONFIG', '/nowhere/talosconfig');
    vi.stubEnv('TALOS_HOME', '/nowhere');
    onTestFinished(() => void vi.unstubAllEnvs());
    const { code, stderr } = await run('talos', 'doctor');
    expect(code).toBe(2);
    expect(stderr).toContain(
      'there is no talosconfig in /nowhere/talosconfig, /nowhere/config, /var/run/secrets/talos.dev/config',
    );
  });
});
