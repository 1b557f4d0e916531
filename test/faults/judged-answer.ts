import type { Toleration } from '../../src/kubernetes/toleration.ts';
import type { Answer } from '../control-plane/rest.ts';
import type { Taint } from '../e2e/nodes.ts';
import { MASTER } from '../unit/judge/request/daemon-set-cases.ts';

/** What is asked for. The first two remove a protected taint; the others are nobody's business but the requester's. */
export type RequestKind = 'removal-denied' | 'removal-restored' | 'label' | 'own-taint' | 'daemon-set';

/**
 * How a request ended:
 * - `admitted` rightly: as asked for, with what was removed put back, or with the toleration that was missing;
 * - `refused` rightly: by the policy;
 * - `missed`: taintkeeper was not asked, and what it protects passed. Right only if it is put back, or told of, afterwards;
 * - `failed`: neither the one nor the other. Nothing was lost, and somebody has to try again;
 * - `wrong`: refused on account of taintkeeper, which has nothing to say about it.
 */
export type Result = 'admitted' | 'refused' | 'missed' | 'failed' | 'wrong';

export interface Judged {
  readonly result: Result;
  /** Of what failed or is wrong. */
  readonly why?: string;
}

export const isRight = ({ result }: Judged) => result === 'admitted' || result === 'refused';

/** The part of an answer that says what became of the object, or why nothing did. */
export interface Told {
  readonly message?: string;
  readonly spec?: {
    readonly taints?: readonly Taint[];
    readonly template?: { readonly spec: { readonly tolerations?: readonly Toleration[] } };
  };
}

/** @param kept the keys of the taints that a node of ours has to keep */
export function judgeAnswer(kind: RequestKind, { status, body }: Answer<Told>, kept: readonly string[]): Judged {
  const message = body?.message ?? '';
  if (status < 300) return hasPassedRightly(kind, body, kept) ? { result: 'admitted' } : { result: 'missed' };
  const isRemoval = kind === 'removal-denied' || kind === 'removal-restored';
  // What mutation could not restore, validation refuses.
  if (message.includes('denied the request'))
    return isRemoval ? { result: 'refused' } : { result: 'wrong', why: `${kind}: ${message}` };
  if (message.includes('failed calling webhook')) {
    return kind === 'removal-denied'
      ? { result: 'failed', why: `webhook: ${reasonOf(message)}` }
      : { result: 'wrong', why: `${kind}: ${message}` };
  }
  return { result: 'failed', why: `API server: ${status} ${reasonOf(message)}` };
}

/** What never got an answer. */
export function judgeError(error: unknown): Judged {
  const { code, message } = error as NodeJS.ErrnoException;
  const reason = /timeout|aborted/i.test(message) ? 'timeout' : (code ?? message);
  return { result: 'failed', why: `API server: no answer, ${reason}` };
}

function hasPassedRightly(kind: RequestKind, { spec }: Told, kept: readonly string[]): boolean {
  switch (kind) {
    case 'removal-denied':
    case 'removal-restored':
      return kept.every((key) => spec?.taints?.some((taint) => taint.key === key));
    case 'label':
    case 'own-taint':
      return true;
    case 'daemon-set':
      return spec?.template?.spec.tolerations?.some(({ key }) => key === MASTER.key) ?? false;
  }
}

/** In few words, without names and ports, so that equal ones can be counted. */
function reasonOf(message: string): string {
  const known = [
    'context deadline exceeded',
    'connection refused',
    'connection reset by peer',
    'EOF',
    'x509',
    'etcdserver: request timed out',
    'etcdserver: leader changed',
    'forbidden',
    'too many requests',
    'no endpoints available',
  ];
  const found = known.find((part) => message.toLowerCase().includes(part.toLowerCase()));
  return found ?? message.split(': ').at(-1)?.slice(0, 80) ?? '';
}
