import type { Taint } from '../../kubernetes/taint.ts';

/** A startup taint that the leader removes from a node. */
export interface RemovableTaint {
  readonly taint: Taint;
  /** The policies that set it, or have set it, and those whose protection needs an entry of the annotation. */
  readonly policyNames: readonly string[];
  /** Why it is removed, in words. */
  readonly reason: string;
  /** `readyWhen` does not hold: the policies remove the taint after the deadline. */
  readonly isGivenUp?: true;
  /**
   * An entry of the annotation allow-removal ends with the taint, if it has one. The leader has perhaps written the entry before, for a policy that
   * protected the taint then. Left there, it would keep the taint off once a policy sets it again.
   */
  readonly endsEntry?: true;
}
