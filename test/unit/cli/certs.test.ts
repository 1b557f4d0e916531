import { X509Certificate } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { parseCertificates } from '../../../src/certs/bundle.ts';
import { issueCa } from '../../../src/certs/issue.ts';
import { introduceCa } from '../../../src/certs/rotation.ts';
import { base64, certificateData, expiredCaData, foreignData } from '../../e2e/certificate-data.ts';
import { absentStatus } from '../cluster/client/absent.ts';
import { answer, clientFor, startFakeApi } from '../cluster/client/fake-api.ts';
import { run } from './run-command.ts';

type Data = Readonly<Record<string, string>>;

const text = (data: Data, key: string) => Buffer.from(data[key] ?? '', 'base64').toString();

/**
 * A cluster with this Secret, or with none, and without a leader.
 * @param onWrite what another writer leaves of a written Secret
 */
async function cluster(data: Data | undefined, onWrite = (written: Data): Data | undefined => written) {
  let stored = data;
  const secret = () => ({ metadata: { resourceVersion: '7' }, data: stored });
  const api = await startFakeApi(({ method, path, body }, response) => {
    if (stored === undefined) return answer(response, absentStatus(path), 404);
    if (method === 'PATCH') stored = { ...stored, ...JSON.parse(body).data };
    answer(response, secret());
    if (method === 'PATCH') stored = onWrite({ ...stored });
  });
  const { file } = await clientFor(api.url);
  const rotate = (...args: string[]) => run('certs', 'rotate', ...args, '--kubeconfig', file);
  return { rotate, stored: () => stored ?? {}, writes: () => api.received.filter(({ method }) => method !== 'GET') };
}

/** Whether the first CA of the bundle issued a serving certificate that is valid now. */
function servesFrom(data: Data, ca: X509Certificate | undefined): boolean {
  const serving = new X509Certificate(text(data, 'tls.crt'));
  return ca !== undefined && serving.verify(ca.publicKey) && serving.validToDate.getTime() > Date.now();
}

describe('certs rotate replaces', () => {
  it.each([
    { what: 'a valid serving certificate', data: () => certificateData(), says: 'asked for' },
    { what: 'an expired serving certificate', data: () => certificateData(100, 95), says: 'not valid after' },
    {
      what: 'a serving certificate that is missing',
      data: async () => ({ ...(await certificateData()), 'tls.crt': '', 'tls.key': '' }),
      says: 'not found',
    },
    {
      what: 'a serving certificate that cannot be read',
      data: async () => ({ ...(await certificateData()), 'tls.crt': base64('x') }),
      says: 'not a usable PEM',
    },
  ])('$what, and keeps the CA', async ({ data, says }) => {
    const before: Data = await data();
    const { rotate, stored } = await cluster(before);
    const { code, stdout, stderr } = await rotate();

    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/^serving certificate \(.+\)\n$/);
    expect(stdout).toContain(says);
    expect(stored()['ca.crt']).toBe(before['ca.crt']);
    expect(stored()['tls.crt']).not.toBe(before['tls.crt']);
    expect(servesFrom(stored(), parseCertificates(text(before, 'ca.crt'))[0])).toBe(true);
  });

  it('with --ca, an expired serving certificate by the CA that is trusted, before the new CA joins', async () => {
    const before = await certificateData(100, 95);
    const { rotate, stored } = await cluster(before);
    const { code, stdout, stderr } = await rotate('--ca', '--timeout', '0');

    // There is no leader, so the last step does not come.
    expect(code).toBe(2);
    expect(stderr).toContain('the serving certificate was not replaced within 0 s');
    expect(stdout).toMatch(/^serving certificate \(not valid after .+\)\na new CA joined the bundle \(asked for\)\n$/);
    const cas = parseCertificates(text(stored(), 'ca.crt'));
    expect(cas).toHaveLength(2);
    expect(servesFrom(stored(), cas[1])).toBe(true);
  });

  it('an expired serving certificate while a new CA is introduced', async () => {
    const data = await certificateData(100, 95);
    const files = { cert: 'tls.crt', key: 'tls.key', bundle: 'ca.crt', caKey: 'ca.key' };
    const old = Object.fromEntries(Object.entries(files).map(([part, key]) => [part, text(data, key)]));
    const { files: both } = await introduceCa(old as never, new Date(), 'test');
    const { rotate, stored } = await cluster({
      ...data,
      'ca.crt': base64(both.bundle),
      'ca.key': base64(both.caKey),
    });
    expect(await rotate()).toMatchObject({ code: 0, stderr: '' });
    expect(servesFrom(stored(), parseCertificates(both.bundle)[0])).toBe(true);
  });
});

describe('while a CA that is not valid yet is introduced, certs rotate', async () => {
  const ahead = await issueCa(new Date('2100-01-01'));
  const introducing = (data: Data) => ({
    ...data,
    'ca.crt': base64(`${ahead.cert}\n${text(data, 'ca.crt')}`),
    'ca.key': base64(ahead.key),
  });

  it('with --ca, replaces that CA', async () => {
    const { rotate, stored } = await cluster(introducing(await certificateData()));
    // There is no leader, so the last step does not come.
    const { stdout, stderr } = await rotate('--ca', '--timeout', '0');
    expect(stderr).toContain('the serving certificate was not replaced within 0 s');
    expect(stdout).toBe('a new CA joined the bundle (asked for)\n');
    const cas = parseCertificates(text(stored(), 'ca.crt'));
    expect(cas.map(({ validFromDate }) => validFromDate.getTime() < Date.now())).toEqual([true, true]);
    expect(servesFrom(stored(), cas[1])).toBe(true);
  });

  it.each([
    { what: 'a valid serving certificate', data: () => certificateData() },
    { what: 'an expired serving certificate', data: () => certificateData(100, 95) },
  ])('without --ca, refuses to replace $what', async ({ data }) => {
    const { rotate, writes } = await cluster(introducing(await data()));
    const { code, stdout, stderr } = await rotate();
    expect([code, stdout, writes()]).toEqual([2, '', []]);
    expect(stderr).toBe(
      'taintkeeper: Secret taintkeeper/taintkeeper-certs: the CA is not valid before 2099-12-31T23:00:00.000Z, and API servers refuse its certificates until then: replace the CA with --ca\n',
    );
  });
});

describe('certs rotate writes nothing, and says what to do,', () => {
  const RESTART =
    'The leader, or a replica that starts, issues a new CA and serving certificate: ' +
    'kubectl rollout restart --namespace taintkeeper deployment --selector app.kubernetes.io/name=taintkeeper';

  it.each([
    { what: 'if everything has expired', data: () => certificateData(3700, 3700), why: 'not valid after 20' },
    { what: 'if the CA has expired', data: expiredCaData, why: 'not valid after 20' },
    {
      what: 'if the Secret cannot be read',
      data: async () => ({ 'ca.crt': base64('x'), 'ca.key': base64('x'), 'tls.crt': base64('x') }),
      why: 'not a usable PEM certificate and private key',
    },
    { what: 'if the Secret is empty', data: async () => ({}), why: 'not found' },
  ])('$what', async ({ data, why }) => {
    const { rotate, writes } = await cluster(await data());
    for (const args of [[], ['--ca']]) {
      const { code, stdout, stderr } = await rotate(...args);
      expect([code, stdout, writes()]).toEqual([2, '', []]);
      expect(stderr).toContain(`taintkeeper: Secret taintkeeper/taintkeeper-certs: the CA cannot be used: ${why}`);
      expect(stderr.endsWith(`. ${RESTART}\n`), stderr).toBe(true);
    }
  });

  it.each([
    {
      what: 'if there is no Secret',
      data: async () => undefined,
      args: [],
      says: 'not found: check --namespace. With cert-manager or an existing Secret, the issuer of that certificate renews it.',
    },
    { what: 'if another issuer wrote it', data: foreignData, args: [], says: 'has no ca.key' },
    {
      what: 'if the certificate is for another namespace, expired or not',
      data: () => certificateData(100, 95, 'other'),
      args: [],
      says: 'the serving certificate is not for taintkeeper.taintkeeper.svc: check --namespace',
    },
  ])('$what', async ({ data, args, says }) => {
    const { rotate, writes } = await cluster(await data());
    const { code, stdout, stderr } = await rotate(...args);
    expect([code, stdout, writes()]).toEqual([2, '', []]);
    expect(stderr).toContain(says);
  });
});

describe('certs rotate --ca, while it waits,', async () => {
  const REISSUE =
    'The leader, or a replica that starts, issues a new CA and serving certificate: kubectl rollout restart';

  const others = await certificateData();

  it.each<{ what: string; onWrite: (written: Data) => Data | undefined; says: string }>([
    {
      what: 'fails if the Secret is deleted',
      onWrite: () => undefined,
      says: `Secret taintkeeper/taintkeeper-certs was deleted during the rotation. ${REISSUE}`,
    },
    {
      what: 'fails if the Secret is emptied',
      onWrite: () => ({}),
      says: `Secret taintkeeper/taintkeeper-certs: the CA cannot be used: not found. ${REISSUE}`,
    },
    {
      what: 'fails if another issuer replaces it',
      onWrite: ({ 'ca.key': _key, ...others }) => others,
      says: 'Secret taintkeeper/taintkeeper-certs has no ca.key',
    },
    {
      what: 'fails if the certificates of another CA take its place',
      onWrite: () => others,
      says: 'Secret taintkeeper/taintkeeper-certs has another CA than the new one, because another writer replaced it: try again',
    },
    {
      what: 'waits for the leader if the serving certificate is missing',
      onWrite: (written) => ({ ...written, 'tls.crt': '' }),
      says: 'the serving certificate was not replaced within 0 s',
    },
    {
      what: 'waits for the leader if the serving certificate cannot be read',
      onWrite: (written) => ({ ...written, 'tls.crt': base64('x') }),
      says: 'the serving certificate was not replaced within 0 s',
    },
  ])('$what', async ({ onWrite, says }) => {
    const { rotate } = await cluster(await certificateData(), onWrite);
    const { code, stderr } = await rotate('--ca', '--timeout', '0');
    expect(stderr).toContain(says);
    expect(code).toBe(2);
  });
});
