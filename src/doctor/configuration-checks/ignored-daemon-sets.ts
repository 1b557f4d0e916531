import { IGNORE_ANNOTATION, optsOut } from '../../judge/daemon-set.ts';
import { atMost } from '../../kubernetes/text.ts';
import { compileDaemonSetSelection } from '../../policy/daemon-set-selection.ts';
import type { CheckResult } from '../check.ts';
import type { ConfigurationFacts } from '../configuration-facts.ts';
import { found, unread } from './found.ts';
import { validPolicies } from './valid-policies.ts';

const NAME = 'ignored DaemonSets';
const MAX_NAMED = 5;

/** DaemonSets that a policy selects, and that opt out of it. */
export function checkIgnoredDaemonSets(facts: Pick<ConfigurationFacts, 'policies' | 'daemonSets'>): CheckResult[] {
  const { policies, daemonSets } = facts;
  const skipped = unread(NAME, policies, daemonSets);
  if (skipped || !policies.ok || !daemonSets.ok) return skipped ? [skipped] : [];
  const selections = validPolicies(policies.value).flatMap((policy) =>
    policy.kind === 'TaintPolicy' ? [] : [compileDaemonSetSelection(policy.spec.daemonSets)],
  );
  const ignored = daemonSets.value.filter(
    (daemonSet) => optsOut(daemonSet) && selections.some((selects) => selects(daemonSet)),
  );
  const [first] = ignored;
  if (first === undefined) return [found(NAME, 'ok', 'none that a policy selects')];
  const names = atMost(
    MAX_NAMED,
    ignored.map(({ namespace, name }) => `${namespace}/${name}`),
  );
  const remedy = `if that is not meant: kubectl --namespace ${first.namespace} annotate daemonset ${first.name} ${IGNORE_ANNOTATION}-`;
  return [found(NAME, 'note', `selected by a policy, and annotated ${IGNORE_ANNOTATION}: ${names.join(', ')}`, remedy)];
}
