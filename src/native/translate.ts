import type { TaintPolicy, TolerationPolicy } from '../policy/policy.ts';
import { translateDaemonSets } from './daemon-sets.ts';
import type { NativeTranslation, TranslationOptions } from './native-policy.ts';
import { translateNodes } from './nodes.ts';

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
