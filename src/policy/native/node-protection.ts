import { all, type Expression, FALSE, not, TRUE } from '../cel/expression.ts';
import { EMPTY, isEmpty, isIn, those } from '../cel/lists.ts';
import { type Assembled, validating } from './assemble.ts';
import type { ResourceRule, ValidationAction } from './native-objects.ts';
import { ALL_LOSSES, auditMessage, LOSSES, refusalMessage, writtenOut } from './node-messages.ts';
import { DROPS_TAINTS, isNamedIn, type NodeSubject } from './node-subject.ts';
import type { TranslationOptions } from './translate.ts';

export const NODE_UPDATES: readonly ResourceRule[] = [
  { apiGroups: [''], apiVersions: ['v1'], resources: ['nodes'], operations: ['UPDATE'] },
];

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

/** Under the webhook, that is what warns the requester. */
export function reportActions(purpose: TranslationOptions['purpose']): ValidationAction[] {
  return purpose === 'Alone' ? ['Audit', 'Warn'] : ['Audit'];
}
