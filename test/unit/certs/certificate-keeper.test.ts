import { X509Certificate } from 'node:crypto';
import { copyFileSync, mkdirSync, readFileSync, renameSync, rmdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { generate } from 'selfsigned';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { fingerprints } from '../../../src/certs/bundle.ts';
import { trackCaTrust } from '../../../src/certs/ca-trust.ts';
import { openCertificates } from '../../../src/certs/certificate-directory.ts';
import { certificateFiles } from '../../../src/certs/certificate-files.ts';
import {
  type Callers,
  type CertificateKeeperOptions,
  keepCertificates,
} from '../../../src/certs/certificate-keeper.ts';
import { uncoveredNames } from '../../../src/certs/certificate-names.ts';
import { invalidAt } from '../../../src/certs/inspect.ts';
import { issueCa, issueServing, type KeyPair } from '../../../src/certs/issue.ts';
import { certificateCheck } from '../../../src/replica/certificate-check.ts';
import { eventually } from '../eventually.ts';
import { whenTrue } from '../stopped-clock.ts';
import { temporaryDirectory } from '../temporary-directory.ts';
import { issueAuthority } from './authorities.ts';
import { expectConsistent, filesOf } from './directories.ts';

const NAMES = ['localhost'];
const POLL_INTERVAL_MS = 10;
const DAY_MS = 86_400_000;

/** Callers that trust every CA, unless `waitMs` says otherwise, and whose clock is the local one, unless `now` does. */
const callersOf = ({
  waitMs = () => 0,
  now = () => new Date(),
}: Partial<Callers['trust'] & Pick<Callers, 'now'>> = {}) => ({
  trust: { waitMs, anchorOf: () => 'system' as const },
  now,
  onWait: vi.fn(),
});

async function keep(
  directory: string,
  {
    names = NAMES,
    onFirstServe,
    callers,
  }: { names?: string[]; onFirstServe?: () => void; callers?: CertificateKeeperOptions['callers'] } = {},
) {
  const onServe = vi.fn<CertificateKeeperOptions['onServe']>();
  if (onFirstServe) onServe.mockImplementationOnce(onFirstServe);
  const onIssued = vi.fn();
  const onFault = vi.fn();
  const keeper = await keepCertificates({
    directory,
    names,
    callers,
    onServe,
    onIssued,
    onFault,
    pollIntervalMs: POLL_INTERVAL_MS,
  });
  onTestFinished(keeper.stop);
  return { keeper, onServe, onIssued, onFault };
}

/** A pair that taintkeeper did not issue. */
async function otherIssuersPair() {
  const { cert, private: key } = await generate([{ name: 'commonName', value: 'of my own' }], { keyType: 'ec' });
  return { cert, key };
}

function writePair(directory: string, { cert, key }: KeyPair): void {
  writeFileSync(join(directory, 'tls.crt'), cert);
  writeFileSync(join(directory, 'tls.key'), key);
}

async function putOtherIssuersPair(directory: string) {
  const pair = await otherIssuersPair();
  writePair(directory, pair);
  return pair;
}

afterEach(() => {
  vi.useRealTimers();
});

it('serves what is valid and cannot be renewed, leaves it as it is, says so, and renews it when it can', async () => {
  const directory = temporaryDirectory();
  const { serving } = await openCertificates(directory, NAMES, new Date(Date.now() - 80 * DAY_MS));
  const before = filesOf(directory);
  // What a full disk does to the second file of the pair.
  const inTheWay = join(directory, `tls.key.${process.pid}.tmp`);
  mkdirSync(inTheWay);
  const { keeper, onServe, onIssued, onFault } = await keep(directory);

  expect(keeper.current().serving).toEqual(serving);
  expect(onIssued).not.toHaveBeenCalled();
  expect(keeper.fault()).toMatch(/^cannot write .*tls\.key: is a directory$/);
  expect(onFault.mock.calls).toEqual([[keeper.fault()]]);
  rmdirSync(inTheWay);
  expect(filesOf(directory)).toEqual(before);

  // Somebody makes room, and touches the files.
  writeFileSync(join(directory, 'ca.key'), before['ca.key'] ?? '');
  await eventually(() => expect(keeper.fault()).toBeUndefined());
  expect(onServe).toHaveBeenCalledTimes(2);
  expect(keeper.current().serving).not.toEqual(serving);
  expectConsistent(directory);
});

it('does not serve what has expired, or is not for all names, and cannot be renewed', async () => {
  const directory = temporaryDirectory();
  await openCertificates(directory, NAMES, new Date(Date.now() - 91 * DAY_MS));
  mkdirSync(join(directory, `tls.key.${process.pid}.tmp`));
  await expect(keep(directory)).rejects.toThrow(/^cannot write .*tls\.key: is a directory$/);
});

it('serves what it opened first', async () => {
  const directory = temporaryDirectory();
  await openCertificates(directory, NAMES, new Date());
  const { keeper, onServe } = await keep(directory);

  expect(onServe.mock.calls).toEqual([[keeper.current()]]);
  expect(keeper.fault()).toBeUndefined();
});

it('passes the error on when the directory cannot be opened the first time', async () => {
  const file = join(temporaryDirectory(), 'file');
  writeFileSync(file, '');

  await expect(keep(join(file, 'certs'))).rejects.toThrow('not a directory');
});

describe('while it runs,', () => {
  it('serves a new pair that another issuer writes', async () => {
    const directory = temporaryDirectory();
    const first = await putOtherIssuersPair(directory);
    const { keeper, onServe } = await keep(directory);
    const second = await putOtherIssuersPair(directory);

    await eventually(() => expect(onServe).toHaveBeenCalledTimes(2));
    expect(onServe.mock.calls.map(([{ serving }]) => serving)).toEqual([first, second]);
    expect(keeper.current().serving).toEqual(second);
  });

  it("keeps the last good pair while another issuer's files are missing, and reports it", async () => {
    const directory = temporaryDirectory();
    const first = await putOtherIssuersPair(directory);
    const { keeper, onServe, onFault } = await keep(directory);

    for (const file of certificateFiles(directory)) rmSync(file, { force: true });
    await eventually(() => expect(onFault).toHaveBeenCalled());
    expect(keeper.fault()).toBe(onFault.mock.lastCall?.[0]);
    expect(keeper.current().serving).toEqual(first);

    const second = await putOtherIssuersPair(directory);
    await eventually(() => expect(keeper.fault()).toBeUndefined());
    expect(keeper.current().serving).toEqual(second);
    expect(onServe).toHaveBeenCalledTimes(2);
  });

  it('replaces a serving pair of its own that was deleted, and nothing else', async () => {
    const directory = temporaryDirectory();
    const { keeper, onServe, onIssued } = await keep(directory);
    const first = keeper.current();
    for (const file of ['tls.crt', 'tls.key']) rmSync(join(directory, file));

    await eventually(() => expect(onServe).toHaveBeenCalledTimes(2));
    expect(onIssued.mock.lastCall).toEqual(['serving certificate (not found)']);
    expect(keeper.current().serving.key).not.toBe(first.serving.key);
    expect(keeper.current().ca?.fingerprint256).toBe(first.ca?.fingerprint256);
    expect(keeper.fault()).toBeUndefined();
    expect(statSync(join(directory, 'tls.key')).mode & 0o777).toBe(0o600);
  });

  it.each([
    { what: 'CA is missing', files: ['ca.crt', 'ca.key'] },
    { what: "CA's key is missing", files: ['ca.key'] },
    { what: 'files are all gone', files: ['ca.crt', 'ca.key', 'tls.crt', 'tls.key'] },
  ])('keeps the last good pair while its own $what, says so, and takes them when they are back', async ({ files }) => {
    const directory = temporaryDirectory();
    const { keeper, onServe, onFault } = await keep(directory);
    const { serving } = keeper.current();
    const texts = files.map((file) => readFileSync(join(directory, file)));
    for (const file of files) rmSync(join(directory, file));

    await eventually(() => expect(keeper.fault()).toContain('is not usable (not found): restore'));
    expect(onFault.mock.lastCall).toEqual([keeper.fault()]);
    expect(keeper.current().serving).toEqual(serving);

    for (const [index, file] of files.entries()) writeFileSync(join(directory, file), texts[index] ?? '');
    await eventually(() => expect(keeper.fault()).toBeUndefined());
    expect(keeper.current().serving).toEqual(serving);
    expect(onServe).toHaveBeenCalledTimes(1);
  });

  it('does not serve again what it serves already, when a file is only rewritten', async () => {
    const directory = temporaryDirectory();
    const { keeper, onServe } = await keep(directory);
    const before = keeper.current();
    copyFileSync(join(directory, 'tls.crt'), join(directory, 'copy'));
    renameSync(join(directory, 'copy'), join(directory, 'tls.crt'));

    await eventually(() => expect(keeper.current()).not.toBe(before));
    expect(onServe).toHaveBeenCalledTimes(1);
  });

  it('of two that share a directory, both serve the pair that one of them issued', async () => {
    const directory = temporaryDirectory();
    const [one, two] = await Promise.all([keep(directory), keep(directory)]);

    expect(one.keeper.current().serving).toEqual(two.keeper.current().serving);
  });

  it('of two that share a directory and ask for different names, both finally serve a pair for all names', async () => {
    const directory = temporaryDirectory();
    const asked = [['a.test', 'fd00::1'], ['b.test']];
    const keepers = await Promise.all(asked.map((names) => keep(directory, { names })));

    const served = () => keepers.map(({ keeper }) => keeper.current());
    await eventually(() => {
      for (const { certificate } of served()) expect(uncoveredNames(certificate, asked.flat())).toEqual([]);
      expect(new Set(served().map(({ serving }) => serving.cert)).size).toBe(1);
    });
    // Neither finds anything to issue any more.
    for (const names of asked) {
      expect(await openCertificates(directory, names, new Date())).toMatchObject({
        issued: [],
        serving: served()[0]?.serving,
      });
    }
  });
});

it.each([
  { what: "another issuer's", prepare: async (directory: string) => void (await putOtherIssuersPair(directory)) },
  {
    what: 'its own',
    prepare: async (directory: string) => void (await openCertificates(directory, NAMES, new Date())),
  },
  { what: 'just issued', prepare: async () => {} },
])('a pair ($what) that is replaced right after it was read is noticed', async ({ prepare }) => {
  const directory = temporaryDirectory();
  await prepare(directory);
  const next = await otherIssuersPair();
  const { keeper, onServe } = await keep(directory, { onFirstServe: () => writePair(directory, next) });

  await eventually(() => expect(onServe).toHaveBeenCalledTimes(2));
  expect(keeper.current().serving).toEqual(next);
});

it('renews in time, though no file changes', async () => {
  const directory = temporaryDirectory();
  const start = Date.now();
  vi.useFakeTimers({ now: start, toFake: ['Date', 'setInterval', 'clearInterval'] });
  const { keeper, onServe, onIssued } = await keep(directory);
  const first = keeper.current();

  vi.setSystemTime(start + 59 * 86_400_000);
  await vi.advanceTimersByTimeAsync(3_600_000);
  expect(keeper.current().serving).toEqual(first.serving);

  vi.setSystemTime(start + 61 * 86_400_000);
  vi.advanceTimersByTime(3_600_000);
  await eventually(() => expect(onServe).toHaveBeenCalledTimes(2));
  expect(keeper.current().certificate.validToDate.getTime()).toBeGreaterThan(first.certificate.validToDate.getTime());
  expect(onIssued.mock.lastCall).toEqual([expect.stringMatching(/^serving certificate \(not valid after /)]);
  expect((await openCertificates(directory, NAMES, new Date())).issued).toEqual([]);
});

it('replaces a certificate within a minute after a clock that was years behind is corrected', async () => {
  const directory = temporaryDirectory();
  const today = new Date('2026-06-01T12:00:00Z');
  await openCertificates(directory, NAMES, today);
  vi.useFakeTimers({ now: new Date('2020-01-01'), toFake: ['Date', 'setInterval', 'clearInterval'] });
  const { keeper } = await keep(directory);
  expect(keeper.current().certificate.validToDate.getFullYear()).toBe(2020);
  vi.setSystemTime(today);
  vi.advanceTimersByTime(60_000);
  await eventually(() => expect(invalidAt(keeper.current().certificate, today)).toBeUndefined());
});

describe('a pair of another CA, where it is known who calls', () => {
  /** @param days how long ago it was issued: it lasts 90 */
  async function put(directory: string, days = 1) {
    const issued = new Date(Date.now() - days * DAY_MS);
    const ca = await issueCa(issued);
    const serving = await issueServing(ca, NAMES, issued);
    writePair(directory, serving);
    writeFileSync(join(directory, 'ca.crt'), ca.cert);
    return { serving, ca: new X509Certificate(ca.cert) };
  }

  async function start(days?: number) {
    const directory = temporaryDirectory();
    const first = await put(directory, days);
    /** By the fingerprint of a CA, how long until its pair may be served. */
    const waits = new Map([[first.ca.fingerprint256, 0]]);
    const callers = callersOf({
      waitMs: (anchor) => waits.get(anchor === 'system' ? anchor : anchor.fingerprint256) ?? Number.POSITIVE_INFINITY,
    });
    const { keeper } = await keep(directory, { callers });
    return { directory, first, keeper, waits, onWait: callers.onWait };
  }

  it('waits until they trust the CA; until then the bundle has both CAs', async () => {
    const { directory, first, keeper, waits, onWait } = await start();
    const next = await put(directory);
    await expect.poll(() => onWait.mock.calls.length).toBe(1);
    expect(keeper.current()).toMatchObject({ serving: first.serving, ca: { fingerprint256: first.ca.fingerprint256 } });
    expect(fingerprints(keeper.current().bundle ?? '')).toEqual([next.ca.fingerprint256, first.ca.fingerprint256]);

    waits.set(next.ca.fingerprint256, 10_000);
    keeper.recheck();
    expect(keeper.current().serving).toEqual(first.serving);
    waits.set(next.ca.fingerprint256, 0);
    keeper.recheck();
    expect(keeper.current().serving).toEqual(next.serving);
    expect(fingerprints(keeper.current().bundle ?? '')).toEqual([next.ca.fingerprint256]);
    expect(onWait).toHaveBeenCalledTimes(1);
  });

  it('waits for its own CA, not for another one in ca.crt', async () => {
    const { directory, keeper, waits } = await start();
    const next = await put(directory);
    writeFileSync(join(directory, 'ca.crt'), `${(await issueCa(new Date())).cert}\n${next.ca}`);
    waits.set(next.ca.fingerprint256, 0);
    await expect.poll(() => keeper.current().serving).toEqual(next.serving);
  });

  it('is served at once if the one before is no longer valid, as no API server trusts that one either', async () => {
    const { directory, keeper, onWait } = await start(91);
    const next = await put(directory);
    await expect.poll(() => keeper.current().serving).toEqual(next.serving);
    expect(onWait).not.toHaveBeenCalled();
  });

  it('stays trusted and is served while ca.crt alone is replaced; the pair of that CA waits for trust', async () => {
    const { directory, first, keeper, waits, onWait } = await start();
    const issuer = await issueCa(new Date());
    const next = { ca: new X509Certificate(issuer.cert), serving: await issueServing(issuer, NAMES, new Date()) };
    const both = [next.ca.fingerprint256, first.ca.fingerprint256];
    writeFileSync(join(directory, 'ca.crt'), issuer.cert);
    await eventually(() => expect(keeper.fault()).toMatch(/not signed by the CA/));
    expect(fingerprints(keeper.current().bundle ?? '')).toEqual(both);
    const apiServer = { now: new Date(), clocksAgree: true };
    expect(certificateCheck(keeper, apiServer)).toMatchObject({ state: 'degraded' });

    writePair(directory, next.serving);
    await expect.poll(() => onWait.mock.calls.length).toBe(1);
    expect(keeper.fault()).toBeUndefined();
    expect(keeper.current().serving).toEqual(first.serving);
    expect(fingerprints(keeper.current().bundle ?? '')).toEqual(both);
    waits.set(next.ca.fingerprint256, 0);
    keeper.recheck();
    expect(keeper.current()).toMatchObject({ serving: next.serving, bundle: issuer.cert });
  });

  it('stays served without a fault when its ca.crt gets a further CA', async () => {
    const { directory, first, keeper } = await start();
    const bundle = `${(await issueCa(new Date())).cert}\n${first.ca}`;
    writeFileSync(join(directory, 'ca.crt'), bundle);
    await expect.poll(() => keeper.current()).toMatchObject({ serving: first.serving, bundle });
    expect(keeper.fault()).toBeUndefined();
  });
});

it('says only once what it has issued, also if the bundle alone changes', async () => {
  const directory = temporaryDirectory();
  const callers = callersOf({ waitMs: () => Number.POSITIVE_INFINITY });
  const { keeper, onServe, onIssued } = await keep(directory, { callers });
  const issued = [expect.stringMatching(/^CA /), expect.stringMatching(/^serving certificate /)];
  expect(onIssued.mock.calls.flat()).toEqual(issued);
  const { serving } = keeper.current();

  // By an intermediate CA: beside our ca.key, one of the CA in ca.crt counts as our own.
  const root = await issueAuthority('root', new Date());
  const intermediate = await issueAuthority('intermediate', new Date(), root);
  const { cert, key } = await issueServing(intermediate, NAMES, new Date());
  writeFileSync(join(directory, 'ca.crt'), root.cert);
  writePair(directory, { cert: `${cert}\n${intermediate.cert}`, key });
  await eventually(() => expect(onServe).toHaveBeenCalledTimes(2));
  expect(keeper.current().serving).toEqual(serving);
  expect(fingerprints(keeper.current().bundle ?? '')).toHaveLength(2);
  expect(onIssued.mock.calls.flat()).toEqual(issued);
});

describe('a pair that takes the place of a valid one', () => {
  const HOUR_MS = 3_600_000;
  const from = (ms: number) => new Date(Date.now() + ms);

  interface Next {
    readonly names?: readonly string[];
    /** When it is issued, from now on: certificates are backdated by an hour. */
    readonly issuedMs?: number;
    /** When its CA is issued, from now on. Undefined: the CA of the pair before. */
    readonly caIssuedMs?: number;
    /** Whether `ca.crt` stays that of the pair before. */
    readonly keepsCaFile?: boolean;
  }

  /** A directory with a pair of ten days. The callers trust every CA after `waitMs`. Their clock is ahead of the local one by `clock.aheadMs`. */
  async function start({ areCallersKnown = true, aheadMs = 0, waitMs = 0 }) {
    const directory = temporaryDirectory();
    const clock = { aheadMs };
    const ca = await issueCa(from(-80 * DAY_MS));
    const put = async ({ names = NAMES, issuedMs = 0, caIssuedMs, keepsCaFile = false }: Next) => {
      const issuer = caIssuedMs === undefined ? ca : await issueCa(from(caIssuedMs));
      const pair = await issueServing(issuer, names, from(issuedMs));
      if (!keepsCaFile) writeFileSync(join(directory, 'ca.crt'), issuer.cert);
      writePair(directory, pair);
      return pair;
    };
    const first = await put({ issuedMs: -80 * DAY_MS });
    const callers = callersOf({ waitMs: () => waitMs, now: () => from(clock.aheadMs) });
    const kept = await keep(directory, areCallersKnown ? { callers } : {});
    return { ...kept, directory, clock, callers, put, first };
  }

  interface Case {
    readonly why: string;
    readonly next: Next;
    readonly aheadMs?: number;
    readonly areCallersKnown?: boolean;
  }

  it.each<Case & { says: RegExp }>([
    { why: 'not valid yet', next: { issuedMs: 2 * HOUR_MS }, says: /not valid before/ },
    {
      why: "not valid yet by the callers' clock, as of an issuer whose clock agrees with the local one",
      next: {},
      aheadMs: -2 * HOUR_MS,
      says: /not valid before/,
    },
    {
      why: 'of a CA that is not valid yet',
      next: { caIssuedMs: 2 * HOUR_MS },
      says: /the CA is not valid before/,
    },
    { why: 'no longer valid', next: { issuedMs: -91 * DAY_MS }, says: /not valid after/ },
    { why: 'not for the names by which they call', next: { names: ['other'] }, says: /not for localhost/ },
    { why: 'not of the CA beside it', next: { caIssuedMs: 0, keepsCaFile: true }, says: /not signed by the CA/ },
    {
      why: 'not valid yet by the local clock, where the callers are not known',
      next: { issuedMs: 2 * HOUR_MS },
      areCallersKnown: false,
      says: /not valid before/,
    },
    {
      why: 'no longer valid by the local clock, where the callers are not known',
      next: { issuedMs: -91 * DAY_MS },
      areCallersKnown: false,
      says: /not valid after/,
    },
  ])('is not served if it is $why', async ({ next, says, ...circumstances }) => {
    const { directory, put, keeper, first, onFault, onServe, callers } = await start({
      ...circumstances,
      // No CA is trusted: a pair that is not refused first would begin to wait.
      waitMs: Number.POSITIVE_INFINITY,
    });
    await put(next);
    await eventually(() => expect(keeper.fault()).toMatch(says));

    const { source } = says;
    expect(keeper.fault()).toMatch(
      new RegExp(`^${join(directory, 'tls.crt')}: ${source}.*; the last good certificates are served$`),
    );
    expect(keeper.current().serving).toEqual(first);
    keeper.recheck();
    expect(onFault.mock.calls).toEqual([[keeper.fault()]]);
    for (const [{ serving }] of onServe.mock.calls) expect(serving).toEqual(first);
    expect(callers.onWait).not.toHaveBeenCalled();
  });

  it.each<Case>([
    { why: 'valid', next: {} },
    {
      why: "valid by the callers' clock, and not yet by the local one",
      next: { issuedMs: 2 * HOUR_MS },
      aheadMs: 2 * HOUR_MS,
    },
    {
      why: 'better, because the one before is no longer valid for the callers, although it is not valid either',
      next: { issuedMs: 20 * DAY_MS },
      aheadMs: 11 * DAY_MS,
    },
    {
      why: 'for other names, where the callers are not known',
      next: { names: ['other'] },
      areCallersKnown: false,
    },
    {
      why: 'not of the CA beside it, where the callers are not known',
      next: { caIssuedMs: 0, keepsCaFile: true },
      areCallersKnown: false,
    },
  ])('is served at once if it is $why', async ({ next, ...circumstances }) => {
    const { put, keeper, onFault } = await start(circumstances);
    const second = await put(next);
    await eventually(() => expect(keeper.current().serving).toEqual(second));
    expect(keeper.fault()).toBeUndefined();
    expect(onFault).not.toHaveBeenCalled();
  });

  it('does not bring its CA while it is not served, where the one before came without a CA', async () => {
    const { put, keeper, directory } = await start({});
    rmSync(join(directory, 'ca.crt'));
    const served = await put({ keepsCaFile: true });
    await eventually(() => expect(keeper.current()).toMatchObject({ serving: served, bundle: undefined }));
    await put({ issuedMs: 5 * HOUR_MS, caIssuedMs: 5 * HOUR_MS });
    await eventually(() => expect(keeper.fault()).toMatch(/not valid before/));
    expect(keeper.current()).toMatchObject({ serving: served, bundle: undefined });
  });

  it('stays without a CA while ca.crt has one that did not sign it', async () => {
    const { put, keeper, directory } = await start({});
    rmSync(join(directory, 'ca.crt'));
    const served = await put({ keepsCaFile: true });
    await eventually(() => expect(keeper.current()).toMatchObject({ serving: served, bundle: undefined }));
    writeFileSync(join(directory, 'ca.crt'), (await issueCa(new Date())).cert);
    await eventually(() => expect(keeper.fault()).toMatch(/not signed by the CA/));
    expect(keeper.current()).toMatchObject({ serving: served, bundle: undefined });
    rmSync(join(directory, 'ca.crt'));
    await eventually(() => expect(keeper.fault()).toBeUndefined());
  });

  it.each<Case & { laterMs: number }>([
    { why: 'it is valid', next: { issuedMs: 2 * HOUR_MS }, laterMs: HOUR_MS + 60_000 },
    {
      why: 'the one before is no longer valid',
      next: { names: ['other'] },
      laterMs: 11 * DAY_MS,
    },
  ])('is served as soon as $why, though no file changes', async ({ next, laterMs }) => {
    const { put, keeper, clock } = await start({});
    const second = await put(next);
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    await whenTrue(() => {
      vi.advanceTimersByTime(POLL_INTERVAL_MS);
      return keeper.fault() !== undefined;
    });
    clock.aheadMs = laterMs;
    vi.advanceTimersByTime(10_000);

    expect(keeper.current().serving).toEqual(second);
    expect(keeper.fault()).toBeUndefined();
  });

  it('takes the place of one that was never for the names of the callers, whatever they trust', async () => {
    const directory = temporaryDirectory();
    const ca = await issueCa(new Date());
    writeFileSync(join(directory, 'ca.crt'), ca.cert);
    writePair(directory, await issueServing(ca, ['other'], new Date()));
    const callers = callersOf({ waitMs: () => Number.POSITIVE_INFINITY });
    const misnamed = await keep(directory, { callers });
    const next = await issueServing(ca, NAMES, new Date());
    writePair(directory, next);

    await eventually(() => expect(misnamed.keeper.current().serving).toEqual(next));
  });
});

it.each([
  { why: 'ahead of', aheadMs: -30 * DAY_MS },
  { why: 'behind', aheadMs: 30 * DAY_MS },
])("issues pairs that are valid by the callers' clock, where the local one is $why it", async ({ aheadMs }) => {
  const directory = temporaryDirectory();
  const now = () => new Date(Date.now() + aheadMs);
  const { keeper, onServe } = await keep(directory, { callers: callersOf({ now }) });
  const isValid = ({ validFromDate, validToDate }: X509Certificate) => validFromDate <= now() && now() < validToDate;
  expect(isValid(keeper.current().certificate) && isValid(keeper.current().ca as X509Certificate)).toBe(true);

  for (const file of ['tls.crt', 'tls.key']) rmSync(join(directory, file));
  await eventually(() => expect(onServe).toHaveBeenCalledTimes(2));
  const { validToDate } = keeper.current().certificate;
  expect(Math.abs(validToDate.getTime() - now().getTime() - 90 * DAY_MS)).toBeLessThan(60_000);
});

describe('where webhooks are registered, a pair that replaces another one', () => {
  const SETTLED_MS = 60_000;
  const issuer = async () => issueCa(new Date());

  /** A pair of that issuer. `ca.crt` is removed if no CA is given. */
  async function put(directory: string, by: KeyPair, ca?: string) {
    const pair = await issueServing(by, NAMES, new Date());
    if (ca === undefined) rmSync(join(directory, 'ca.crt'), { force: true });
    else writeFileSync(join(directory, 'ca.crt'), ca);
    writePair(directory, pair);
    return pair;
  }

  /** A keeper of a first pair, with these `caBundle`s. */
  async function start(caBundles: readonly string[], by: KeyPair, ca?: string) {
    const directory = temporaryDirectory();
    const first = await put(directory, by, ca);
    const trust = trackCaTrust();
    let passedMs = performance.now();
    vi.spyOn(performance, 'now').mockImplementation(() => passedMs);
    onTestFinished(() => void vi.restoreAllMocks());
    const register = (...bundles: string[]) => {
      trust.observe(bundles);
      passedMs += SETTLED_MS;
    };
    register(...caBundles);
    const callers = { trust, now: () => new Date(), onWait: vi.fn() };
    const { keeper, onFault } = await keep(directory, { callers });
    return { directory, first, keeper, register, onFault, onWait: callers.onWait };
  }

  it.each([
    { of: 'another CA', next: 'other' },
    { of: 'no CA: self-signed', next: 'self-signed' },
  ])('and comes without ca.crt is not served if no caBundle has its CA ($of)', async ({ next }) => {
    const [known, other] = [await issuer(), await issuer()];
    const { directory, first, keeper, onFault } = await start([known.cert, known.cert], known, known.cert);
    rmSync(join(directory, 'ca.crt'));
    if (next === 'other') await put(directory, other);
    else {
      const extensions = [{ name: 'subjectAltName' as const, altNames: [{ type: 2 as const, value: 'localhost' }] }];
      const { cert, private: key } = await generate([], { keyType: 'ec', extensions });
      writePair(directory, { cert, key });
    }
    await eventually(() => expect(keeper.fault()).toMatch(/add its CA as ca\.crt/));
    expect(keeper.fault()).toMatch(/; the last good certificates are served$/);
    expect(onFault.mock.calls).toEqual([[keeper.fault()]]);
    expect(keeper.current().serving).toEqual(first);
  });

  it('waits for trust once its CA is added, also if the one before has come without', async () => {
    const [known, other] = [await issuer(), await issuer()];
    const { directory, first, keeper, register, onWait } = await start([known.cert], known);
    const next = await put(directory, other);
    await eventually(() => expect(keeper.fault()).toMatch(/add its CA as ca\.crt/));
    writeFileSync(join(directory, 'ca.crt'), other.cert);
    await eventually(() => expect(onWait).toHaveBeenCalledTimes(1));
    expect(keeper.fault()).toBeUndefined();
    // The leader registers it beside the CAs that are registered, because it does not know which one signed the served pair.
    expect(keeper.current()).toMatchObject({ serving: first, ca: undefined, bundle: other.cert });
    register(known.cert + other.cert);
    keeper.recheck();
    expect(keeper.current()).toMatchObject({ serving: next, bundle: other.cert });
  });

  it.each([
    { why: 'every caBundle has its CA', first: 'with ca.crt', bundles: 'its CA' },
    { why: 'every caBundle has its CA, and the one before came without, too', first: 'without', bundles: 'its CA' },
    { why: "no caBundle has a CA: those of the API server's system decide", first: 'without', bundles: 'none' },
    { why: 'no webhook is registered', first: 'with ca.crt', bundles: 'no webhook' },
  ])('and comes without ca.crt is served if $why', async ({ first, bundles }) => {
    const known = await issuer();
    const registered = { 'its CA': [known.cert, known.cert], none: ['', ''], 'no webhook': [] }[bundles] ?? [];
    const { directory, keeper } = await start(registered, known, first === 'without' ? undefined : known.cert);
    const next = await put(directory, known);
    await eventually(() => expect(keeper.current()).toMatchObject({ serving: next, bundle: undefined }));
    expect(keeper.fault()).toBeUndefined();
  });

  it('and is of a private CA is served if no caBundle has a CA: a CA there would end the trust in the one before', async () => {
    const [of, other] = [await issuer(), await issuer()];
    const { directory, keeper } = await start([''], of);
    const next = await put(directory, other, other.cert);
    await eventually(() => expect(keeper.current()).toMatchObject({ serving: next, bundle: other.cert }));
  });
});
