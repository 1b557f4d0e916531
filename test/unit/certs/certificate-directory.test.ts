import { execFile } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import {
  lutimesSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { openCertificates } from '../../../src/certs/certificate-directory.ts';
import { CertificateDirectoryError, certificateFiles } from '../../../src/certs/certificate-files.ts';
import { uncoveredNames } from '../../../src/certs/certificate-names.ts';
import { issueCa, issueServing } from '../../../src/certs/issue.ts';
import { temporaryDirectory } from '../temporary-directory.ts';
import { daysLater, expectConsistent, filesOf, LOCAL_NAMES, NAMES, NOW, write } from './directories.ts';

/** Why each certificate was issued; of a CA it must be said what is to be done with it. */
function reasons(directory: string, issued: readonly string[]): Record<string, string | undefined> {
  const advice = `: ${join(directory, 'ca.crt')} belongs in every caBundle`;
  return Object.fromEntries(
    issued.map((text) => {
      const [, what = text, reason] = /^(CA|serving certificate) \((.*)\)(?:: .*)?$/s.exec(text) ?? [];
      expect(text.endsWith(advice), text).toBe(what === 'CA');
      return [what, reason];
    }),
  );
}

/** The lock of a process that was killed while it worked. */
function leaveLock(directory: string, made: Date): void {
  const lock = join(directory, '.lock');
  mkdirSync(join(lock, 'killed'), { recursive: true });
  utimesSync(lock, made, made);
}

describe('an empty or missing directory', () => {
  it.each(['.', 'not/there/yet'])('(%s) gets a CA and a serving certificate, for the owner only', async (path) => {
    const directory = join(temporaryDirectory(), path);
    const opened = await openCertificates(directory, NAMES, NOW);

    expect(opened.issued).toEqual([
      `CA (not found): ${join(directory, 'ca.crt')} belongs in every caBundle`,
      'serving certificate (not found)',
    ]);
    expect(opened.renews).toBe('serving');
    expect(readdirSync(directory).sort()).toEqual(['ca.crt', 'ca.key', 'tls.crt', 'tls.key']);
    expectConsistent(directory);
    for (const file of certificateFiles(directory)) expect.soft(statSync(file).mode & 0o777, file).toBe(0o600);
    expect(opened.serving).toEqual({
      cert: readFileSync(join(directory, 'tls.crt'), 'utf8'),
      key: readFileSync(join(directory, 'tls.key'), 'utf8'),
    });
    expect(opened.ca?.fingerprint256).toBe(new X509Certificate(readFileSync(join(directory, 'ca.crt'))).fingerprint256);
    expect(uncoveredNames(opened.certificate, [...LOCAL_NAMES, ...NAMES])).toEqual([]);
    expect(opened.uncovered).toEqual([]);
  });

  it('is the same the next time', async () => {
    const directory = temporaryDirectory();
    const first = await openCertificates(directory, NAMES, NOW);
    const files = filesOf(directory);
    const second = await openCertificates(directory, NAMES, daysLater(59));

    expect(second).toMatchObject({ serving: first.serving, renews: 'serving', issued: [] });
    expect(second.ca?.fingerprint256).toBe(first.ca?.fingerprint256);
    expect(filesOf(directory)).toEqual(files);
  });
});

describe('of its own certificates, it issues anew at the start', () => {
  const stranger = issueCa(NOW);
  const UNUSABLE = expect.stringMatching(/^not a usable PEM/);

  it.each<{
    why: string;
    spoil?: (directory: string) => void | Promise<void>;
    names?: string[];
    now?: Date;
    issued: { CA?: string; 'serving certificate': string };
  }>([
    {
      why: 'the serving one within 30 days of its end',
      now: daysLater(60.1),
      issued: { 'serving certificate': 'not valid after 2026-08-30T12:00:00.000Z' },
    },
    {
      why: 'the serving one when it expired long ago',
      now: daysLater(500),
      issued: { 'serving certificate': 'not valid after 2026-08-30T12:00:00.000Z' },
    },
    {
      why: 'the serving one only, when both are not valid yet: the clock is wrong',
      now: daysLater(-60),
      issued: { 'serving certificate': 'not valid before 2026-06-01T11:00:00.000Z' },
    },
    {
      why: 'the serving one only, the day before the end of the CA',
      now: daysLater(3649),
      issued: { 'serving certificate': 'not valid after 2026-08-30T12:00:00.000Z' },
    },
    {
      why: 'both when the CA has expired',
      now: daysLater(3650),
      issued: { CA: 'not valid after 2036-05-29T12:00:00.000Z', 'serving certificate': 'not signed by the CA' },
    },
    {
      why: 'the serving one for names that it lacks',
      names: [...NAMES, 'taintkeeper.taintkeeper.svc', 'fd00::1'],
      issued: { 'serving certificate': 'not for taintkeeper.taintkeeper.svc, fd00::1' },
    },
    {
      why: 'the serving one when it is not for the machine itself',
      spoil: async (directory) => {
        const { 'ca.crt': cert = '', 'ca.key': key = '' } = filesOf(directory);
        const pair = await issueServing({ cert, key }, NAMES, NOW);
        write(directory, { 'tls.crt': pair.cert, 'tls.key': pair.key });
      },
      issued: { 'serving certificate': 'not for localhost, 127.0.0.1, ::1' },
    },
    {
      why: 'the serving one when the key does not match',
      spoil: async (directory) => write(directory, { 'tls.key': (await issueServing(await stranger, NAMES, NOW)).key }),
      issued: { 'serving certificate': 'the private key does not belong to the certificate' },
    },
    {
      why: 'the serving one when another CA of taintkeeper signed it',
      spoil: async (directory) => {
        const { cert, key } = await issueServing(await stranger, NAMES, NOW);
        write(directory, { 'tls.crt': cert, 'tls.key': key });
      },
      issued: { 'serving certificate': 'not signed by the CA' },
    },
    {
      why: 'the serving one when its certificate is garbage',
      spoil: (directory) => write(directory, { 'tls.crt': 'garbage' }),
      issued: { 'serving certificate': UNUSABLE },
    },
    {
      why: 'the serving one when its key is empty',
      spoil: (directory) => write(directory, { 'tls.key': '' }),
      issued: { 'serving certificate': UNUSABLE },
    },
    {
      why: 'the serving one when its certificate is missing',
      spoil: (directory) => rmSync(join(directory, 'tls.crt')),
      issued: { 'serving certificate': 'not found' },
    },
    {
      why: "both when the CA's key is garbage",
      spoil: (directory) => write(directory, { 'ca.key': '\u0000\u0001' }),
      issued: { CA: UNUSABLE, 'serving certificate': 'not signed by the CA' },
    },
    {
      why: "both when the CA's certificate is another one's",
      spoil: async (directory) => write(directory, { 'ca.crt': (await stranger).cert }),
      issued: {
        CA: 'the private key does not belong to the certificate',
        'serving certificate': 'not signed by the CA',
      },
    },
    {
      why: "both when the CA's certificate is missing",
      spoil: (directory) => rmSync(join(directory, 'ca.crt')),
      issued: { CA: 'not found', 'serving certificate': 'not signed by the CA' },
    },
  ])('$why', async ({ spoil, names = NAMES, now = NOW, issued }) => {
    const directory = temporaryDirectory();
    const first = await openCertificates(directory, NAMES, NOW);
    await spoil?.(directory);
    const before = filesOf(directory);
    const opened = await openCertificates(directory, names, now);

    expect(reasons(directory, opened.issued)).toEqual(issued);
    expect(opened.serving.key).not.toBe(first.serving.key);
    expect(opened.ca?.fingerprint256 === first.ca?.fingerprint256).toBe(issued.CA === undefined);
    expectConsistent(directory);
    // What was replaced for good is kept, as it was.
    const { 'ca.crt': caCert, 'ca.key': caKey } = before;
    const { 'ca.crt.old': oldCert, 'ca.key.old': oldKey } = filesOf(directory);
    expect([oldCert, oldKey]).toEqual(issued.CA === undefined ? [undefined, undefined] : [caCert, caKey]);
    for (const file of certificateFiles(directory)) {
      if (readFileSync(file, 'utf8') !== '') expect.soft(statSync(file).mode & 0o777, file).toBe(0o600);
    }
    expect((await openCertificates(directory, names, now)).issued).toEqual([]);
  });

  it('a serving certificate that does not outlive the CA, and is not renewed while it lasts as long as that', async () => {
    const directory = temporaryDirectory();
    await openCertificates(directory, NAMES, NOW);
    const { certificate, ca } = await openCertificates(directory, NAMES, daysLater(3650 - 10));

    expect(certificate.validToDate).toEqual(ca?.validToDate);
    expect((await openCertificates(directory, NAMES, daysLater(3650 - 0.001))).issued).toEqual([]);
  });

  it('for more names, one that keeps the earlier ones: two processes with different names stop reissuing', async () => {
    const directory = temporaryDirectory();
    await openCertificates(directory, ['a.test', 'fd00::1'], NOW);
    const { certificate, issued } = await openCertificates(directory, ['b.test'], NOW);

    expect(issued).toEqual(['serving certificate (not for b.test)']);
    expect(uncoveredNames(certificate, [...LOCAL_NAMES, 'a.test', 'fd00::1', 'b.test'])).toEqual([]);
    const entries = certificate.subjectAltName?.split(', ') ?? [];
    expect(entries).toEqual([...new Set(entries)]);
    expect((await openCertificates(directory, ['a.test', 'fd00::1'], NOW)).issued).toEqual([]);
    expect((await openCertificates(directory, ['b.test'], NOW)).issued).toEqual([]);
  });

  it('nothing while another process does: it waits, and uses the pair that was issued', async () => {
    const directory = temporaryDirectory();
    mkdirSync(join(directory, '.lock', 'another'), { recursive: true });
    const opening = openCertificates(directory, NAMES, NOW);
    const ca = await issueCa(NOW);
    const { cert, key } = await issueServing(ca, [...LOCAL_NAMES, ...NAMES], NOW);
    write(directory, { 'ca.crt': ca.cert, 'ca.key': ca.key, 'tls.crt': cert, 'tls.key': key });
    rmSync(join(directory, '.lock'), { recursive: true });

    expect(await opening).toMatchObject({ issued: [], serving: { cert, key } });
  });

  it.each([
    { when: 'a while ago', offsetMs: -60_000 },
    { when: 'by a clock that was ahead', offsetMs: 3_600_000 },
  ])('in spite of a lock that a killed process left behind $when', async ({ offsetMs }) => {
    const directory = temporaryDirectory();
    leaveLock(directory, new Date(Date.now() + offsetMs));

    expect((await openCertificates(directory, NAMES, NOW)).issued).toHaveLength(2);
    expect(readdirSync(directory)).not.toContain('.lock');
  });

  it('both after a replacement of the CA that was cut short at any point', async () => {
    for (const kept of [['tls.key', 'ca.crt', 'ca.key'], ['ca.crt', 'ca.key'], ['ca.key'], []]) {
      const directory = temporaryDirectory();
      await openCertificates(directory, NAMES, NOW);
      write(directory, { 'ca.key': 'cut sh' });
      for (const file of ['tls.crt', 'tls.key', 'ca.crt', 'ca.key']) {
        if (!kept.includes(file)) renameSync(join(directory, file), join(directory, `${file}.old`));
      }
      const opened = await openCertificates(directory, NAMES, NOW);
      expect(opened).toMatchObject({
        renews: 'serving',
        issued: [expect.stringMatching(/^CA /), expect.stringMatching(/^serving/)],
      });
    }
  });
});

describe('while it runs', () => {
  it.each<{ what: string; now?: Date; spoil: (directory: string) => void; fault: string | RegExp }>([
    { what: 'all files', spoil: removeAll, fault: 'not found' },
    { what: "the CA's key", spoil: (directory) => rmSync(join(directory, 'ca.key')), fault: 'not found' },
    { what: "the CA's certificate", spoil: (directory) => rmSync(join(directory, 'ca.crt')), fault: 'not found' },
    {
      what: 'a CA that can be read',
      spoil: (directory) => write(directory, { 'ca.crt': 'garbage' }),
      fault: /^not a usable PEM[^\n]*/,
    },
    {
      what: "the CA's time",
      now: daysLater(3650),
      spoil: () => {},
      fault: 'not valid after 2036-05-29T12:00:00.000Z',
    },
  ])('without $what there is a fault and never a new CA', async ({ now = NOW, spoil, fault }) => {
    const directory = temporaryDirectory();
    await openCertificates(directory, NAMES, NOW);
    spoil(directory);
    const before = filesOf(directory);

    const { message } = await openCertificates(directory, NAMES, now, 'servingOnly').then(
      () => expect.fail('it opened'),
      (error) => error as CertificateDirectoryError,
    );
    const [, found] =
      /^the CA in .*? is not usable \((.*)\): restore ca\.crt and ca\.key, or remove all four files/s.exec(message) ??
      [];
    expect(found, message).toEqual(typeof fault === 'string' ? fault : expect.stringMatching(fault));
    expect(message).toContain(directory);
    expect(filesOf(directory)).toEqual(before);
  });

  it.each([['tls.crt'], ['tls.key'], ['tls.crt', 'tls.key']])(
    'a serving pair without %s %s is issued anew',
    async (...gone) => {
      const directory = temporaryDirectory();
      const first = await openCertificates(directory, NAMES, NOW);
      for (const file of gone) rmSync(join(directory, file));
      const { issued, ca } = await openCertificates(directory, NAMES, NOW, 'servingOnly');

      expect(issued).toEqual(['serving certificate (not found)']);
      expect(ca?.fingerprint256).toBe(first.ca?.fingerprint256);
      expectConsistent(directory);
    },
  );
});

function removeAll(directory: string): void {
  for (const file of certificateFiles(directory)) rmSync(file);
}

describe('many at the same time', () => {
  it('in one process agree on one CA and one serving pair', async () => {
    const directory = temporaryDirectory();
    const opened = await Promise.all(Array.from({ length: 10 }, () => openCertificates(directory, NAMES, NOW)));

    expect(new Set(opened.map(({ serving }) => serving.cert)).size).toBe(1);
    expect(opened.filter(({ issued }) => issued.length > 0)).toHaveLength(1);
    expectConsistent(directory);
    expect(readdirSync(directory).sort()).toEqual(['ca.crt', 'ca.key', 'tls.crt', 'tls.key']);
  });

  it('in several processes agree, too', async () => {
    const directory = temporaryDirectory();
    const script = `
      import { openCertificates } from ${JSON.stringify(new URL('../../../src/certs/certificate-directory.ts', import.meta.url))};
      const { serving } = await openCertificates(${JSON.stringify(directory)}, ${JSON.stringify(NAMES)}, new Date());
      process.stdout.write(serving.cert);
    `;
    const run = promisify(execFile);
    const outputs = await Promise.all(
      Array.from({ length: 3 }, () => run(process.execPath, ['--input-type=module', '--eval', script])),
    );

    expect(new Set(outputs.map(({ stdout }) => stdout))).toEqual(new Set([filesOf(directory)['tls.crt']]));
    expectConsistent(directory);
  });
});

describe('a directory that cannot be used is one clear error', () => {
  it('below a regular file', async () => {
    const file = join(temporaryDirectory(), 'file');
    writeFileSync(file, '');

    await expect(openCertificates(join(file, 'certs'), NAMES, NOW)).rejects.toThrow(
      new CertificateDirectoryError(`${join(file, 'certs', 'tls.crt')}: not a directory`),
    );
  });

  it('in which a file cannot be written', async () => {
    const directory = temporaryDirectory();
    mkdirSync(join(directory, `ca.crt.${process.pid}.tmp`));

    await expect(openCertificates(directory, NAMES, NOW)).rejects.toThrow(
      `cannot write ${join(directory, 'ca.crt')}: is a directory`,
    );
    expect(readdirSync(directory)).not.toContain('.lock');
  });

  it.each([
    { what: 'a file', make: (lock: string) => writeFileSync(lock, '') },
    { what: 'a link that leads nowhere', make: (lock: string) => symlinkSync('nowhere', lock) },
  ])('in which the lock cannot be made, because $what of that name has been there for long', async ({ make }) => {
    const directory = temporaryDirectory();
    make(join(directory, '.lock'));
    lutimesSync(join(directory, '.lock'), 0, 0);

    await expect(openCertificates(directory, NAMES, NOW)).rejects.toThrow(
      `cannot renew the certificates in ${directory}: not a directory`,
    );
  });

  it('in which a file is a directory', async () => {
    const directory = temporaryDirectory();
    mkdirSync(join(directory, 'ca.key'));

    await expect(openCertificates(directory, NAMES, NOW)).rejects.toThrow(/ca\.key: is a directory$/);
  });

  it.each(['::ffff:10.0.0.1', 'fe80::1%lo'])('for the name %s, which no certificate can be for', async (name) => {
    const directory = temporaryDirectory();

    await expect(openCertificates(directory, [name], NOW)).rejects.toThrow(CertificateDirectoryError);
    expect(readdirSync(directory)).not.toContain('tls.crt');
  });
});
