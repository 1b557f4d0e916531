import { stringify } from 'yaml';
import type { PolicyObject } from '../cluster/policies/policy-object.ts';
import { modeOf, type Policy, type PolicyKind } from '../policy/policy.ts';
import { formatProblem } from '../policy/problem.ts';
import type { PolicyStatus } from '../policy/reporting/policy-status.ts';
import { assessCondition, type ConditionLevel } from '../policy/reporting/status-conditions.ts';
import { patchesExisting } from '../policy/toleration-policy.ts';
import { groupedCount } from '../text/counts.ts';
import { daemonSetAt, nodeAt } from './places.ts';
import type { ConditionState, NamedPlace, PolicyState, PolicySummary } from './state.ts';

/** A policy without its summary. */
type Unsummarized = Omit<PolicyState, 'summary'>;

/** The policies of files. The checks report problems of files. */
export function filedPolicyStates(policies: readonly Policy[], audit: boolean): PolicyState[] {
  return summarized(policies.map((policy) => ({ ...inForce(policy, audit), violators: [], conditions: [] })));
}

/** The policies of a cluster, with their last status. */
export function clusterPolicyStates(objects: readonly PolicyObject[], audit: boolean): PolicyState[] {
  return summarized(
    objects.map(({ kind, name, result, inForce: used, status }) => {
      const { matched, violating, violators = [], conditions = [] } = (status ?? {}) as PolicyStatus;
      return {
        ...(used ? inForce(used.policy, audit) : { kind, name, spec: '' }),
        ...(result.ok
          ? { valid: true, problems: [] }
          : {
              valid: false,
              problems: result.problems.map(formatProblem),
              ...(used ? { generationInForce: used.generation } : {}),
            }),
        ...(matched === undefined ? {} : { matched }),
        ...(violating === undefined ? {} : { violating }),
        violators: violators.map((violator) => placed(kind, violator)),
        conditions: conditions.map(conditionState),
      };
    }),
  );
}

/** Caches the YAML of policies. */
const specs = new WeakMap<Policy, string>();

function inForce(policy: Policy, audit: boolean): Omit<Unsummarized, 'violators' | 'conditions'> {
  const { kind, name } = policy;
  const spec = specs.get(policy) ?? stringify(policy.spec);
  specs.set(policy, spec);
  const mode = audit ? 'Audit' : modeOf(policy);
  return {
    kind,
    name,
    mode,
    valid: true,
    problems: [],
    spec,
    ...(kind === 'TolerationPolicy' && patchesExisting(policy.spec, mode) ? { patchesExisting: true } : {}),
  };
}

/** No tab shows pods, which are the violators of a RecoveryPolicy. */
function placed(kind: PolicyKind, violator: string): NamedPlace {
  if (kind === 'RecoveryPolicy') return { text: violator };
  return { text: violator, place: kind === 'TaintPolicy' ? nodeAt(violator) : daemonSetAt(violator) };
}

function conditionState({
  type,
  status,
  reason,
  message,
  lastTransitionTime: since,
}: NonNullable<PolicyStatus['conditions']>[number]): ConditionState {
  const { level, word, next } = assessCondition({ type, status, reason });
  return {
    type,
    status,
    reason,
    message,
    since,
    level,
    ...(level === 'quiet' ? {} : { word }),
    ...(next === undefined ? {} : { next }),
  };
}

/** By kind and name. */
function summarized(states: readonly Unsummarized[]): PolicyState[] {
  const keyOf = ({ kind, name }: Unsummarized) => `${kind}/${name}`;
  return states
    .toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))
    .map((state) => ({ ...state, summary: summaryOf(state) }));
}

/** The levels of conditions that need attention, the worst first. */
const WORST_FIRST = ['failed', 'problem', 'attention'] as const satisfies readonly ConditionLevel[];

function summaryOf(policy: Unsummarized): PolicySummary {
  const { valid, problems, generationInForce, conditions, violating = 0 } = policy;
  if (!valid && generationInForce !== undefined) {
    const why = `generation ${generationInForce} stays in force until taintkeeper restarts; the present one cannot be used: ${problems.join('; ')}`;
    return { level: 'attention', word: 'in force as it was', why };
  }
  if (!valid) return { level: 'failed', word: 'not in force', why: problems.join('; ') };
  for (const level of WORST_FIRST) {
    const found = conditions.find((condition) => condition.level === level);
    if (found) return { level: level === 'failed' ? level : 'attention', word: found.word ?? '', why: found.message };
  }
  if (violating > 0) return { level: 'attention', word: `in force, ${missingText(policy.kind, violating)}`, why: '' };
  return { level: 'ok', word: 'in force', why: '' };
}

function missingText(kind: PolicyKind, violating: number): string {
  if (kind === 'RecoveryPolicy') return groupedCount(violating, 'stuck pod');
  return kind === 'TaintPolicy'
    ? `taints missing on ${groupedCount(violating, 'node')}`
    : `tolerations missing on ${groupedCount(violating, 'DaemonSet')}`;
}
