import { generate } from 'selfsigned';
import type { KeyPair } from '../../../src/certs/issue.ts';

const YEAR_MS = 31_536_000_000;

/** A CA that may have intermediate CAs below it, as those of taintkeeper may not. Valid for a year before that time, and a year after it. */
export async function issueAuthority(name: string, now: Date, parent?: KeyPair): Promise<KeyPair> {
  const { cert, private: key } = await generate([{ name: 'commonName', value: name }], {
    keyType: 'ec',
    curve: 'P-256',
    algorithm: 'sha256',
    notBeforeDate: new Date(now.getTime() - YEAR_MS),
    notAfterDate: new Date(now.getTime() + YEAR_MS),
    ...(parent ? { ca: parent } : {}),
    extensions: [
      { name: 'basicConstraints', cA: true, critical: true },
      { name: 'keyUsage', keyCertSign: true, cRLSign: true, critical: true },
    ],
  });
  return { cert, key };
}
