import type { TaintPolicy } from '../policy.ts';
import { conclude } from './conclude.ts';
import type { NativeTranslation } from './native-objects.ts';
import { nodeLimits } from './node-limits.ts';
import { protection } from './node-protection.ts';
import { registration, registrationReport } from './node-registration.ts';
import { restoration } from './node-restoration.ts';
import { readNamedNodePolicy, readNodeSubject } from './node-subject.ts';
import { rulesOverlap } from './rules-overlap.ts';
import type { TranslationOptions } from './translate.ts';

/** A TaintPolicy in the API server's own language. */
export function translateNodes(policy: TaintPolicy, options: TranslationOptions): NativeTranslation {
  const { among, mutates } = options;
  const others = among.filter((one) => one.kind === 'TaintPolicy' && one.name !== policy.name) as TaintPolicy[];
  const subject = readNodeSubject(policy);
  const holding = others
    .filter(({ spec }) => spec.mode !== 'Audit' && rulesOverlap(spec.taints, policy.spec.taints))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .map(readNamedNodePolicy);
  return conclude(
    policy,
    [
      ...(mutates && policy.spec.mode !== 'Audit' ? restoration(subject, holding, options) : []),
      ...(mutates ? registration(policy, others) : []),
      ...protection(subject, options),
      ...registrationReport(policy, options),
    ],
    nodeLimits(policy, options),
  );
}
