import type { Policy, TaintPolicy, TolerationPolicy } from '../policy.ts';
import { translateDaemonSets } from './daemon-sets.ts';
import type { NativeTranslation } from './native-objects.ts';
import { translateNodes } from './nodes.ts';

export interface TranslationOptions {
  /** All policies that are in force, by whatever means: one may have to give way to another. */
  readonly among: readonly Policy[];
  /** Whether the API server has MutatingAdmissionPolicy, of whatever version. */
  readonly mutates: boolean;
  /**
   * What it is for. Alone: the API server is all there is, and tells requesters with warnings. Backstop: it stands under the webhook, which
   * says all that can be said.
   */
  readonly purpose: 'Alone' | 'Backstop';
}

/**
 * What a policy says, in the API server's own language: the same verdicts and the same patches as {@link judgeNode} and
 * {@link judgeDaemonSet} give. What cannot be said is in `limits`.
 */
export function translate(policy: TaintPolicy | TolerationPolicy, options: TranslationOptions): NativeTranslation {
  switch (policy.kind) {
    case 'TaintPolicy':
      return translateNodes(policy, options);
    case 'TolerationPolicy':
      return translateDaemonSets(policy, options);
  }
}
