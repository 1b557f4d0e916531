import { X509Certificate } from 'node:crypto';
import dns from 'node:dns';
import { once } from 'node:events';
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer, Server } from 'node:net';
import { join } from 'node:path';
import { Server as TlsServer } from 'node:tls';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { issueServing } from '../../../src/certs/issue.ts';
import { InputError } from '../../../src/files/input-error.ts';
import { LEVEL } from '../captured-log.ts';
import { eventually } from '../eventually.ts';
import { OK, REQUEST, requestText } from '../http-requests.ts';
import { taintPolicyYaml, taintRemovalReview } from '../reviews.ts';
import { openRaw, openTls, readAnswer } from '../server/raw-connections.ts';
import { temporaryDirectory } from '../temporary-directory.ts';
import { foreignDirectory, postReview, start, writePair } from './running-app.ts';

describe('/readyz', () => {
  it('names each check when all is well', async () => {
    const { readiness } = await start();

    expect(await readiness()).toEqual({
      status: 200,
      lines: [
        '[+] policies ok: 2 in force',
        expect.stringMatching(/^\[\+\] certificate ok: expires \d{4}-[\d:.T-]+Z, renewed in time$/),
        '[+] shutdown ok: not asked for',
        'ready',
      ],
    });
  });

  it('is degraded while a policy file is broken, and well again after', async () => {
    const policies = join(temporaryDirectory(), 'policies.yaml');
    writeFileSync(policies, taintPolicyYaml('Deny'));
    const { readiness, metrics, log } = await start({ policyPaths: [policies] });
    expect(await metrics()).toContain('taintkeeper_policy_load_success 1');

    rmSync(policies);
    await eventually(async () =>
      expect(await readiness()).toMatchObject({
        status: 200,
        lines: [
          `[!] policies degraded: 1 in force, the last good ones: ${policies}: not found`,
          expect.stringMatching(/^\[\+\]/),
          expect.stringMatching(/^\[\+\]/),
          'ready',
        ],
      }),
    );
    expect(await metrics()).toContain('taintkeeper_policy_load_success 0');
    expect(await metrics()).toContain('taintkeeper_policies{kind="TaintPolicy"} 1');
    expect(log.lines().filter(({ level }) => level === LEVEL.error)).toHaveLength(1);

    writeFileSync(policies, `${taintPolicyYaml('Deny')}---\n${taintPolicyYaml('Audit')}`);
    await eventually(async () => expect((await readiness()).lines[0]).toBe('[+] policies ok: 2 in force'));
    expect(await metrics()).toContain('taintkeeper_policy_load_success 1');
  });

  it("is degraded when another issuer's certificate is not for a required name", async () => {
    const { directory, pair } = await foreignDirectory({ names: ['localhost'] });
    const { readiness } = await start({ certDirectory: directory });

    const expires = new X509Certificate(pair.cert).validToDate.toISOString();
    expect(await readiness()).toMatchObject({
      status: 200,
      lines: expect.arrayContaining([
        `[!] certificate degraded: expires ${expires}, renewed by its issuer; it is not for webhook.test, 127.0.0.1`,
      ]),
    });
  });

  it('is degraded while the key of its own CA is missing, and ok once the key is back', async () => {
    const { readiness, certDirectory, log } = await start();
    const file = join(certDirectory, 'ca.key');
    const text = readFileSync(file);
    rmSync(file);
    await eventually(async () =>
      expect(await readiness()).toMatchObject({
        status: 200,
        lines: expect.arrayContaining([
          expect.stringMatching(/^\[!\] certificate degraded: expires .*, renewed in time; the CA in .* is not usable/),
        ]),
      }),
    );
    expect(log.lines()).toContainEqual(
      expect.objectContaining({
        level: LEVEL.error,
        msg: expect.stringMatching(/^certificates not replaced: the CA in .* is not usable/),
      }),
    );

    writeFileSync(file, text);
    await eventually(async () => expect((await readiness()).lines[1]).toMatch(/^\[\+\] certificate ok: /));
  });

  it('fails when the certificate has expired', async () => {
    const { directory } = await foreignDirectory({ issuedAt: new Date('2020-01-01T00:00:00Z') });
    const { readiness } = await start({ certDirectory: directory });

    expect(await readiness()).toEqual({
      status: 503,
      lines: [
        '[+] policies ok: 2 in force',
        '[-] certificate failed: not valid after 2020-03-31T00:00:00.000Z',
        '[+] shutdown ok: not asked for',
        'not ready',
      ],
    });
  });

  it("is degraded while another issuer's certificate files are broken", async () => {
    const { directory } = await foreignDirectory();
    const { readiness } = await start({ certDirectory: directory });
    expect((await readiness()).lines[1]).toMatch(/^\[\+\] certificate ok: expires .*, renewed by its issuer$/);
    writeFileSync(join(directory, 'tls.crt'), 'garbage');

    await eventually(async () =>
      expect(await readiness()).toMatchObject({
        status: 200,
        lines: expect.arrayContaining([
          expect.stringMatching(
            /^\[!\] certificate degraded: expires .*, renewed by its issuer; .*tls\.crt and tls\.key: not a usable PEM/,
          ),
        ]),
      }),
    );
  });
});

it('with all policies taken as Audit, a denial is a warning, and /readyz and the log say so', async () => {
  const app = await start({ audit: true });

  expect(JSON.parse(await postReview(app, taintRemovalReview())).response).toMatchObject({
    allowed: true,
    warnings: [
      'TaintPolicy control-plane-taints would deny removing taint node-role.kubernetes.io/control-plane:NoSchedule (--audit)',
    ],
    auditAnnotations: { 'audit-denied': expect.stringContaining('control-plane-taints') },
  });
  expect((await app.readiness()).lines[0]).toBe('[+] policies ok: 2 in force, all as Audit');
  expect(app.log.lines()[0]).toMatchObject({
    msg: 'policies in force, all as Audit',
    policies: ['TaintPolicy/control-plane-taints (Deny)', 'TolerationPolicy/cni-tolerations (Mutate)'],
  });
});

it('a changed policy file is in force without a restart; a broken one leaves the last good policies', async () => {
  const policies = join(temporaryDirectory(), 'policies.yaml');
  const replace = (text: string) => {
    writeFileSync(`${policies}.next`, text);
    renameSync(`${policies}.next`, policies);
  };
  replace(taintPolicyYaml('Deny'));
  const app = await start({ policyPaths: [policies] });
  const isAllowed = async () => JSON.parse(await postReview(app, taintRemovalReview())).response.allowed;
  expect(await isAllowed()).toBe(false);

  replace(taintPolicyYaml('Audit'));
  await eventually(async () => expect(await isAllowed()).toBe(true));

  replace('a: [');
  await eventually(() =>
    expect(app.log.lines()).toContainEqual(
      expect.objectContaining({
        level: LEVEL.error,
        msg: `policies not replaced, the last good ones stay: ${policies}:1:5: Flow sequence in block collection must be sufficiently indented and end with a ]`,
      }),
    ),
  );
  expect(await isAllowed()).toBe(true);
});

it('/metrics shows requests, policies and certificates', async () => {
  const { metrics, port, ca } = await start();
  const connection = await openTls(port, ca());
  connection.write(requestText(taintRemovalReview()));
  await readAnswer(connection);
  const text = await metrics();

  for (const line of [
    'taintkeeper_decisions_total{kind="Node",policy="control-plane-taints",mode="Deny",change="Removal",result="Denied",audit="false"} 1',
    'taintkeeper_policies{kind="TaintPolicy"} 1',
    'taintkeeper_policies{kind="TolerationPolicy"} 1',
    'taintkeeper_policy_load_success 1',
  ]) {
    expect.soft(text).toContain(line);
  }
  for (const [certificate, days] of [
    ['serving', 90],
    ['ca', 3650],
  ] as const) {
    const found = new RegExp(`certificate_expiry_timestamp_seconds\\{certificate="${certificate}"\\} (\\d+)`).exec(
      text,
    );
    expect.soft((Number(found?.[1]) * 1000 - Date.now()) / 86_400_000).toBeCloseTo(days, 1);
  }
});

it('a replaced certificate is served to new connections without a restart, while an open connection goes on', async () => {
  const { directory, ca, pair } = await foreignDirectory();
  const { port, metrics, log } = await start({ certDirectory: directory });
  const open = await openTls(port, ca.cert);
  open.write(REQUEST);
  expect(await readAnswer(open)).toMatch(OK);

  const renewed = await issueServing(ca, ['localhost'], new Date(Date.now() - 10 * 86_400_000));
  writePair(directory, renewed);
  await eventually(async () => {
    const next = await openTls(port, ca.cert);
    expect(compact(String(next.getPeerX509Certificate()))).toBe(compact(renewed.cert));
  });

  expect(compact(String(open.getPeerX509Certificate()))).toBe(compact(pair.cert));
  open.write(REQUEST);
  expect(await readAnswer(open)).toMatch(OK);
  const expiry = /expiry_timestamp_seconds\{certificate="serving"\} (\d+)/.exec(await metrics());
  expect((Number(expiry?.[1]) * 1000 - Date.now()) / 86_400_000).toBeCloseTo(80, 1);
  for (const { key } of [pair, renewed]) expect(log.text()).not.toContain(key.split('\n')[1]);
});

const compact = (pem: string) => pem.replaceAll(/\s/g, '');

const RECOVERY = `
apiVersion: taintkeeper.dev/v1alpha1
kind: RecoveryPolicy
metadata: { name: reboots }
spec: { daemonSets: { namespaces: [kube-system] } }
`;
const EXISTING = `
apiVersion: taintkeeper.dev/v1alpha1
kind: TolerationPolicy
metadata: { name: all }
spec:
  mode: Mutate
  existing: Patch
  backstop: Native
  daemonSets: { namespaces: [kube-system] }
  tolerations: [{ operator: Exists }]
`;
const STARTUP = `
apiVersion: taintkeeper.dev/v1alpha1
kind: TaintPolicy
metadata: { name: wait }
spec:
  mode: Restore
  taints:
    - { key: protected }
    - { key: starting, effect: NoSchedule, ensure: UntilReady, readyWhen: { conditions: [{ type: Ready }] } }
`;

it.each([
  { why: 'nothing reads pods', policy: RECOVERY, msgs: ['RecoveryPolicy reboots has no effect without a cluster'] },
  {
    why: 'nodes get the taint when they register, and keep it',
    policy: STARTUP,
    msgs: ['TaintPolicy wait: without a cluster, nothing removes the taint of spec.taints[1] (ensure: UntilReady)'],
  },
  { why: 'in mode Audit, nodes do not get the taint', policy: STARTUP.replace('Restore', 'Audit'), msgs: [] },
  { why: 'with --audit, nodes do not get the taint', policy: STARTUP, audit: true, msgs: [] },
  {
    why: 'nothing writes DaemonSets and native policies',
    policy: EXISTING,
    msgs: [
      'TolerationPolicy all: existing: Patch has no effect without a cluster',
      'TolerationPolicy all: backstop: Native has no effect without a cluster',
    ],
  },
])('warns of a policy from a file that needs a leader: $why', async ({ policy, audit = false, msgs }) => {
  const policies = join(temporaryDirectory(), 'policies.yaml');
  writeFileSync(policies, `${policy}---\n${taintPolicyYaml('Deny')}`);
  const { log } = await start({ policyPaths: [policies], audit });
  const warnings = log.lines().filter(({ level }) => level === LEVEL.warn);
  expect(warnings.map(({ msg }) => msg)).toEqual(msgs.map((msg) => `${msg}: run serve --cluster`));
});

describe('a start that fails', () => {
  it.each([
    { option: 'port', other: 'adminPort', name: '--port' },
    { option: 'adminPort', other: 'port', name: '--admin-port' },
  ])('because the $option is taken leaves nothing listening', async ({ option, other, name }) => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    onTestFinished(() => void taken.close());
    const free = createServer().listen(0, '127.0.0.1');
    await once(free, 'listening');
    const freePort = (free.address() as AddressInfo).port;
    free.close();
    await once(free, 'close');
    const port = (taken.address() as AddressInfo).port;
    await expect(start({ [option]: port, [other]: freePort })).rejects.toThrow(
      new InputError([
        `cannot listen on 127.0.0.1 port ${port} (see ${name}): listen EADDRINUSE: address already in use 127.0.0.1:${port}`,
      ]),
    );
    await expect(openRaw(freePort)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  });
});

it('the HTTPS listener listens before the admin listener, so that /readyz is not "ready" too early', async () => {
  const listening = vi.spyOn(Server.prototype, 'listen');
  onTestFinished(() => void vi.restoreAllMocks());
  await start();

  expect(listening.mock.contexts.map((server) => server instanceof TlsServer)).toEqual([true, false]);
});

it('localhost with two addresses is one listener: a second one would keep its certificate, and keep a stop waiting', async () => {
  // What Fastify asks before it makes a second server.
  vi.spyOn(dns, 'lookup').mockImplementation(((
    _host: string,
    _options: object,
    done: (error: null, found: object[]) => void,
  ) =>
    done(null, [
      { address: '127.0.0.1', family: 4 },
      { address: '::1', family: 6 },
    ])) as unknown as typeof dns.lookup);
  onTestFinished(() => void vi.restoreAllMocks());
  const listening = vi.spyOn(Server.prototype, 'listen');
  await start({ host: 'localhost', adminHost: 'localhost' });

  expect(listening).toHaveBeenCalledTimes(2);
});
