import type { PolicyKind } from '../policy/policy.ts';

/** What keeps a controller from doing what a policy says. The policy's status shows it as its condition `Stalled`. */
export interface Trouble {
  readonly kind: PolicyKind;
  readonly policy: string;
  /** In one word, for programs: CamelCase. */
  readonly reason: string;
  /** In one sentence, for people: what it is about, and what to do. */
  readonly message: string;
}
