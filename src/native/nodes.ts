import { all, type Expression, FALSE, not, TRUE } from '../cel/expression.ts';
import { EMPTY, isEmpty, isIn, those } from '../cel/lists.ts';
import { DROPS_TAINTS } from '../conditions/taints.ts';
import type { TaintPolicy } from '../policy/policy.ts';
import { type Assembled, validating } from './assemble.ts';
import { conclude } from './conclude.ts';
import type { NativeTranslation, TranslationOptions } from './native-policy.ts';
import { nodeLimits, rulesOverlap } from './node-limits.ts';
import {
  ALL_LOSSES,
  auditMessage,
  LOSSES,
  NODE_UPDATES,
  refusalMessage,
  reportActions,
  writtenOut,
} from './node-messages.ts';
import { registration, registrationReport } from './node-registration.ts';
import { restoration } from './node-restoration.ts';
import { isNamedIn, type NodeSubject, readNamedNodePolicy, readNodeSubject } from './node-subject.ts';

/**
 * The validation of an update: what a Deny policy protects stays, and what a Restore policy protects was put back; an Audit
 * policy says what was lost. A release counts once its entry is spent: it stood there before the request, and is gone.
 */
export function protection(policy: NodeSubject, { mutates, purpose }: TranslationOptions): Assembled[] {
  const { name, mode, failurePolicy, releasable, exempt } = policy;
  const audit = mode === 'Audit';
  const released = releasable ? those('protected', all([isNamedIn('announced'), not(isNamedIn('entries'))])) : EMPTY;
  const lost = those('protected', all([not(exempt), releasable ? not(isIn('released')) : TRUE]));
  const annotations: Record<string, Expression> = {
    [audit ? 'audited' : 'denied']: ALL_LOSSES,
    ...(releasable ? { released: writtenOut('released') } : {}),
    ...(exempt === FALSE ? {} : { exempt: writtenOut('excused') }),
  };
  return validating({
    name: `${name}.${audit ? 'report' : 'protect'}.taintkeeper.dev`,
    failurePolicy,
    resourceRules: NODE_UPDATES,
    objectSelector: policy.nodeSelector,
    conditions: { 'drops-taints': DROPS_TAINTS },
    variables: [
      ...policy.variables,
      { name: 'released', definition: released },
      { name: 'excused', definition: those('protected', exempt) },
      { name: 'lost', definition: lost },
      ...LOSSES,
    ],
    actions: audit ? reportActions(purpose) : ['Deny'],
    validations: [{ holds: isEmpty('lost'), message: audit ? auditMessage(policy) : refusalMessage(policy, mutates) }],
    auditAnnotations: annotations,
  });
}

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
