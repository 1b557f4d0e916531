import { policiesInForce } from '../../cluster/policies/policy-object.ts';
import { type DaemonSetView, IGNORE_ANNOTATION, optsOut } from '../../judge/daemon-set-view.ts';
import { compileDaemonSetSelection } from '../../policy/daemon-set-selection.ts';
import { isForDaemonSets, type Policy } from '../../policy/policy.ts';
import { atMost } from '../../text/counts.ts';
import { type Finding, finding, needs } from '../check.ts';
import type { Facts } from '../facts/facts.ts';

const MAX_IGNORED = 5;

/** Reports DaemonSets that a policy selects and that opt out by annotation. */
export function checkIgnoredDaemonSets({
  policies,
  daemonSets,
}: Pick<Facts, 'policies' | 'daemonSets'>): readonly Finding[] {
  return needs({ policies, daemonSets }, (known) =>
    ignoredDaemonSets(policiesInForce(known.policies), known.daemonSets),
  );
}

function ignoredDaemonSets(policies: readonly Policy[], daemonSets: readonly DaemonSetView[]): Finding[] {
  const selections = policies.flatMap((policy) =>
    isForDaemonSets(policy) ? [compileDaemonSetSelection(policy.spec.daemonSets)] : [],
  );
  const ignored = daemonSets.filter(
    (daemonSet) => optsOut(daemonSet) && selections.some((selects) => selects(daemonSet)),
  );
  const [first] = ignored;
  if (first === undefined) return [finding('ok', 'none that a policy selects')];
  const names = atMost(
    MAX_IGNORED,
    ignored.map(({ namespace, name }) => `${namespace}/${name}`),
  );
  const remedy = `if that is not intended: kubectl --namespace ${first.namespace} annotate daemonset ${first.name} ${IGNORE_ANNOTATION}-`;
  return [finding('note', `selected by a policy, and annotated ${IGNORE_ANNOTATION}: ${names.join(', ')}`, remedy)];
}
