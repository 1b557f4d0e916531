import { oncePer } from '../collections/once-per.ts';
import type { NativelyExpressible } from '../policy/backstop.ts';
import { compileTaintPolicy, startupKeysOf } from '../policy/compiled-taint-policy.ts';
import { compileTolerationPolicy } from '../policy/compiled-toleration-policy.ts';
import type { Policy } from '../policy/policy.ts';
import { compilePolicies } from '../policy/policy-set.ts';
import { compileTolerationRestriction } from '../policy/toleration-restriction.ts';
import { translateDaemonSets } from './translate-daemon-sets.ts';
import { translateNodes } from './translate-nodes.ts';
import { translatePods } from './translate-pods.ts';
import type { NativeTranslation, TranslationOptions } from './translation.ts';

/** All policies are translated with the same list of others. */
const compiled = oncePer((policies: readonly Policy[]) => compilePolicies(policies));

/**
 * A policy as native policies: the same decisions and patches as {@link judgeNodeCreation}, {@link judgeNodeUpdate} and {@link judgeDaemonSet}.
 * `limits` lists what cannot be expressed.
 */
export function translate(policy: NativelyExpressible, { among, ...target }: TranslationOptions): NativeTranslation {
  const { taintPolicies, tolerationPolicies } = compiled(among);
  switch (policy.kind) {
    case 'TaintPolicy':
      return translateNodes(compileTaintPolicy(policy, { startupKeys: startupKeysOf(among) }), taintPolicies, target);
    case 'TolerationPolicy':
      return translateDaemonSets(compileTolerationPolicy(policy), tolerationPolicies, target);
    case 'TolerationRestriction':
      return translatePods(compileTolerationRestriction(policy));
  }
}
