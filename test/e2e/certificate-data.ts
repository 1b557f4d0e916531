import { randomBytes } from 'node:crypto';
import { generate } from 'selfsigned';
import { issueCa, issueServing, type KeyPair } from '../../src/certs/issue.ts';
import { NAMESPACE, SERVICE } from '../control-plane/replicas.ts';

const DAY_MS = 86_400_000;

/** The data of a Secret with a CA of its own and a serving certificate, of these ages in days; base64. */
export async function certificateData(
  caDays = 0,
  servingDays = 0,
  namespace = NAMESPACE,
): Promise<Record<string, string>> {
  const ca = await issueCa(daysAgo(caDays));
  const serving = await issueServing(ca, [`${SERVICE}.${namespace}.svc`], daysAgo(servingDays));
  return {
    'ca.crt': base64(ca.cert),
    'ca.key': base64(ca.key),
    'tls.crt': base64(serving.cert),
    'tls.key': base64(serving.key),
  };
}

/**
 * As {@link certificateData}, with a CA that has expired and a serving certificate that has not: ours never outlives its CA, those of
 * others may.
 */
export async function expiredCaData(): Promise<Record<string, string>> {
  const ca = await issueCa(daysAgo(3700));
  const serving = await foreignServing(ca);
  return {
    'ca.crt': base64(ca.cert),
    'ca.key': base64(ca.key),
    'tls.crt': base64(serving.cert),
    'tls.key': base64(serving.key),
  };
}

/** The data of a Secret as cert-manager fills it: of a CA of another name, whose key is not there; base64. */
export async function foreignData(): Promise<Record<string, string>> {
  const { cert, private: key } = await generate(
    [{ name: 'commonName', value: `another CA ${randomBytes(4).toString('hex')}` }],
    {
      notBeforeDate: daysAgo(1),
      notAfterDate: daysAgo(-3650),
      ...ALGORITHM,
      extensions: [
        { name: 'basicConstraints', cA: true, critical: true },
        { name: 'keyUsage', keyCertSign: true, critical: true },
      ],
    },
  );
  const serving = await foreignServing({ cert, key });
  return { 'ca.crt': base64(cert), 'tls.crt': base64(serving.cert), 'tls.key': base64(serving.key) };
}

const ALGORITHM = { keyType: 'ec', curve: 'P-256', algorithm: 'sha256' } as const;

async function foreignServing(ca: KeyPair): Promise<KeyPair> {
  const { cert, private: key } = await generate([{ name: 'commonName', value: 'taintkeeper' }], {
    notBeforeDate: daysAgo(1),
    notAfterDate: daysAgo(-89),
    ...ALGORITHM,
    ca,
    extensions: [
      { name: 'basicConstraints', cA: false, critical: true },
      { name: 'keyUsage', digitalSignature: true, critical: true },
      { name: 'extKeyUsage', serverAuth: true },
      { name: 'subjectAltName', altNames: [{ type: 2, value: `${SERVICE}.${NAMESPACE}.svc` }] },
    ],
  });
  return { cert, key };
}

export function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}

function daysAgo(days: number): Date {
  return new Date(Date.now() - days * DAY_MS);
}
