import type { X509Certificate } from 'node:crypto';
import { inspectPair } from '../../certs/inspect.ts';
import type { TalosContext } from '../../talos/talosconfig.ts';
import { isMixed } from './context-ca.ts';
import type { ClientIdentity } from './dial-apid.ts';

/** The state of the client certificate by this machine's clock: the first that applies, in this order. */
export type ClientJudgement =
  | { readonly is: 'not needed'; readonly otherAuth: string }
  | { readonly is: 'absent' }
  | { readonly is: 'unreadable'; readonly reason: string }
  | {
      /** `mixed`: it is not signed by the CA of its own context. */
      readonly is: 'not valid yet' | 'expired' | 'mixed' | 'valid';
      readonly certificate: X509Certificate;
    };

export function judgeClient({ ca, crt, key, otherAuth }: TalosContext, now: Date): ClientJudgement {
  if (crt === undefined || key === undefined) return otherAuth ? { is: 'not needed', otherAuth } : { is: 'absent' };
  const inspection = inspectPair({ cert: crt, key });
  if (!inspection.ok) return { is: 'unreadable', reason: inspection.reason };
  const { certificate } = inspection;
  if (now < certificate.validFromDate) return { is: 'not valid yet', certificate };
  if (now >= certificate.validToDate) return { is: 'expired', certificate };
  return { is: isMixed({ ca, crt }) ? 'mixed' : 'valid', certificate };
}

/** What to present in TLS. Empty if the pair cannot be read. */
export function identityOf({ crt, key }: TalosContext): ClientIdentity {
  if (crt === undefined || key === undefined) return {};
  return inspectPair({ cert: crt, key }).ok ? { cert: crt, key } : {};
}

/** Whether nothing is wrong with the client certificate, or none is needed. */
export function isUsable({ is }: ClientJudgement): boolean {
  return is === 'valid' || is === 'not needed';
}
