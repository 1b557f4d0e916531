import { generate } from 'selfsigned';
import { issueCa, issueServing } from '../../src/certs/issue.ts';
import { NAMESPACE, SERVICE } from '../control-plane/replicas.ts';

const DAY_MS = 86_400_000;

/** The data of a Secret with a CA of its own and a serving certificate, of these ages in days; base64. */
export async function certificateData(caDays = 0, servingDays = 0): Promise<Record<string, string>> {
  const ca = await issueCa(daysAgo(caDays));
  const serving = await issueServing(ca, [`${SERVICE}.${NAMESPACE}.svc`], daysAgo(servingDays));
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
  const serving = await generate([{ name: 'commonName', value: 'taintkeeper' }], {
    notBeforeDate: daysAgo(10),
    notAfterDate: daysAgo(-80),
    keyType: 'ec',
    curve: 'P-256',
    algorithm: 'sha256',
    ca,
    extensions: [
      { name: 'basicConstraints', cA: false, critical: true },
      { name: 'keyUsage', digitalSignature: true, critical: true },
      { name: 'extKeyUsage', serverAuth: true },
      { name: 'subjectAltName', altNames: [{ type: 2, value: `${SERVICE}.${NAMESPACE}.svc` }] },
    ],
  });
  return {
    'ca.crt': base64(ca.cert),
    'ca.key': base64(ca.key),
    'tls.crt': base64(serving.cert),
    'tls.key': base64(serving.private),
  };
}

export function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}

function daysAgo(days: number): Date {
  return new Date(Date.now() - days * DAY_MS);
}
