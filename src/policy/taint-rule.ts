import type { Static } from 'typebox';
import * as Type from 'typebox';
import { cel } from '../cel/expression.ts';
import { matchesAny } from '../cel/pattern.ts';
import { isQualifiedName, QUALIFIED_NAME_LENGTH } from '../kubernetes/label-selector.ts';
import { compilePattern, isPattern } from '../kubernetes/pattern.ts';
import type { Taint } from '../kubernetes/taint.ts';
import { isTransientTaintKey, NODE_STATE_TAINT_KEYS, TRANSIENT_TAINT_KEYS } from '../kubernetes/transient-taints.ts';
import type { Path, Problem } from './problem.ts';
import {
  brokenConstraints,
  type CelRule,
  type Constraint,
  celIsQualifiedName,
  celValidations,
  EffectSchema,
  LabelValue,
  ObjectName,
  QualifiedNamePattern,
} from './schema.ts';

const KEY_CONSTRAINTS: readonly Constraint<string>[] = [
  {
    holds: (key) => isPattern(key) || isQualifiedName(key),
    cel: `self.contains('*') || ${celIsQualifiedName('self')}`,
    message: 'expected a taint key, NAME or DOMAIN/NAME',
  },
];

/** What constraints of rules read, as far as the types allow. */
export interface ConstrainedRule {
  readonly key: string;
  readonly effect?: string;
  readonly ensure?: string;
  readonly restrict?: readonly string[];
  readonly except?: readonly string[];
  readonly readyWhen?: unknown;
}

/** Changes of a taint that a rule can restrict. Unselection: the labels of the node change so that the policy no longer selects it. */
const RESTRICTED_CHANGES = ['Removal', 'Addition', 'Unselection'] as const;
export type RestrictedChange = (typeof RESTRICTED_CHANGES)[number];

/** When taintkeeper sets a taint. AtRegistration and UntilReady: in the request that creates the Node. */
const ENSURED = ['Always', 'AtRegistration', 'UntilReady'] as const;

/** A startup taint is set once, and every user may remove it. */
export function isStartup(ensure: TaintRule['ensure']): boolean {
  return ensure === 'AtRegistration' || ensure === 'UntilReady';
}

/** Whether only exempt users may make the change. The removal of a required taint is always restricted. */
export function restricts(
  { ensure, restrict = [] }: Pick<TaintRule, 'ensure' | 'restrict'>,
  change: RestrictedChange,
): boolean {
  return restrict.includes(change) || (change === 'Removal' && ensure === 'Always');
}

const RULE_CONSTRAINTS: readonly Constraint<ConstrainedRule>[] = [
  {
    holds: ({ ensure, restrict }) => ensure !== undefined || restrict !== undefined,
    cel: 'has(self.ensure) || has(self.restrict)',
    message: 'a rule needs ensure, restrict or both: add ensure: Always, or restrict: [Removal]',
  },
  {
    holds: ({ key, ensure }) => ensure === undefined || !isPattern(key),
    cel: "!has(self.ensure) || !self.key.contains('*')",
    message: 'ensure needs a key without "*", because taintkeeper sets the taint',
    field: 'key',
  },
  {
    holds: ({ key, ensure }) =>
      ensure === undefined || ensure === 'AtRegistration' || !NODE_STATE_TAINT_KEYS.includes(key),
    cel: `!has(self.ensure) || self.ensure == 'AtRegistration' || !(self.key in [${NODE_STATE_TAINT_KEYS.map((key) => `'${key}'`).join(', ')}])`,
    message:
      'ensure: Always and UntilReady are not allowed for a taint that Kubernetes sets and removes during the life of a node: kubectl uncordon, for example, would never work',
    field: 'key',
  },
  {
    holds: ({ effect, ensure }) => ensure === undefined || effect !== undefined,
    cel: '!has(self.ensure) || has(self.effect)',
    message: 'ensure needs an effect: add NoSchedule, PreferNoSchedule or NoExecute',
  },
  {
    holds: ({ ensure, restrict = [] }) => ensure === undefined || ensure === 'Always' || !restrict.includes('Removal'),
    cel: "!has(self.ensure) || self.ensure == 'Always' || !has(self.restrict) || !('Removal' in self.restrict)",
    message: 'a startup taint must be free to be removed: leave Removal out',
    field: 'restrict',
  },
  {
    holds: ({ ensure, restrict = [] }) => ensure !== 'UntilReady' || !restrict.includes('Addition'),
    cel: "!has(self.ensure) || self.ensure != 'UntilReady' || !has(self.restrict) || !('Addition' in self.restrict)",
    message: 'taintkeeper may set the taint after the registration of the node: leave Addition out',
    field: 'restrict',
  },
  {
    holds: ({ ensure, effect }) => ensure !== 'UntilReady' || effect === undefined || effect === 'NoSchedule',
    cel: "!has(self.ensure) || self.ensure != 'UntilReady' || !has(self.effect) || self.effect == 'NoSchedule'",
    message: 'ensure: UntilReady is only for effect NoSchedule',
    field: 'effect',
  },
  {
    holds: ({ ensure, readyWhen }) => (ensure === 'UntilReady') === (readyWhen !== undefined),
    cel: "has(self.readyWhen) == (has(self.ensure) && self.ensure == 'UntilReady')",
    message: 'ensure: UntilReady needs readyWhen, and no other rule has it',
    field: 'readyWhen',
  },
  {
    holds: ({ key, except }) => except === undefined || isPattern(key),
    cel: "!has(self.except) || self.key.contains('*')",
    message: 'except is only for a key with "*": leave it out',
    field: 'except',
  },
  {
    // Not all contradictions: comparing patterns with patterns exceeds the API server's cost limit.
    holds: ({ key, except = [] }) =>
      except.every((one) => one !== key && !(one.endsWith('*') && key.startsWith(one.slice(0, -1)))),
    cel:
      '!has(self.except) || self.except.all(e, e != self.key && ' +
      "!(e.endsWith('*') && self.key.startsWith(e.substring(0, e.size() - 1))))",
    message: 'except excludes every key of the rule: narrow except, or delete the rule',
    field: 'except',
  },
];

const TRANSIENT = matchesAny(
  { value: cel(1)`self.key`, maxLength: QUALIFIED_NAME_LENGTH },
  TRANSIENT_TAINT_KEYS.filter(isPattern),
).text;

/** For the API server only. {@link checkRule} checks the same, with the key. */
const NOT_IDLE: CelRule = {
  cel: `!self.key.contains('*') || !(${TRANSIENT})`,
  message:
    'protects nothing: a pattern never covers taints that Kubernetes or an agent sets and removes, so name an exact key',
  field: 'key',
};

/** The maximum number of exceptions of a rule: the API server's CEL evaluates each of them. */
const MAX_EXCEPT = 32;

/** The leader checks all of them on each node that waits. */
const MAX_READY_DAEMON_SETS = 8;
const PROGRESS_DEADLINE_SECONDS = 600;

const ReadyDaemonSetSchema = Type.Object(
  {
    namespace: { ...ObjectName, description: 'The namespace of the DaemonSet.' },
    name: { ...ObjectName, description: 'The name of the DaemonSet.' },
  },
  { additionalProperties: false },
);

/** A DaemonSet that a startup taint waits for. */
export type ReadyDaemonSet = Static<typeof ReadyDaemonSetSchema>;

const ReadyWhenSchema = Type.Object(
  {
    daemonSets: Type.Array(ReadyDaemonSetSchema, {
      description:
        'The DaemonSets that must be ready on the node. One is ready if it has a Ready pod on the node that is not being deleted and was ' +
        'created after the Node (two seconds of tolerance), of any revision. A DaemonSet that does not exist, or does not select the node, keeps the taint. Each ' +
        'must tolerate the taint.',
      minItems: 1,
      maxItems: MAX_READY_DAEMON_SETS,
    }),
    progressDeadlineSeconds: Type.Optional(
      Type.Integer({
        description:
          'After how many seconds a node that still waits is reported, by an Event and the condition Stalled. The taint stays.',
        format: 'int32',
        default: PROGRESS_DEADLINE_SECONDS,
        minimum: 1,
        maximum: 86_400,
      }),
    ),
  },
  {
    description: 'For ensure: UntilReady: when taintkeeper removes the taint from a node.',
    additionalProperties: false,
  },
);

/** How long a node may wait before it is reported. */
export function progressDeadlineMsOf({
  progressDeadlineSeconds = PROGRESS_DEADLINE_SECONDS,
}: Static<typeof ReadyWhenSchema>) {
  return 1_000 * progressDeadlineSeconds;
}

/** An item of `spec.taints` of a TaintPolicy. */
export const TaintRuleSchema = Type.Object(
  {
    key: QualifiedNamePattern(
      'Key of the taint. `*` stands for any run of characters. A key with `*` protects a taint once it has stayed on ' +
        'a Ready node for ten minutes, and never one that Kubernetes or an agent sets and removes, such as node.kubernetes.io/not-ready or the ' +
        'start-up taints of well-known agents. A key without `*` protects at once.',
      KEY_CONSTRAINTS,
    ),
    except: Type.Optional(
      Type.Array(QualifiedNamePattern('A key, or a pattern of keys.', KEY_CONSTRAINTS), {
        description:
          'With a key that has `*`: keys that it leaves out, such as the taint that an operator sets while it prepares a ' +
          'node, and removes again. `*` stands for any run of characters.',
        minItems: 1,
        maxItems: MAX_EXCEPT,
      }),
    ),
    value: Type.Optional(LabelValue('Value of the taint. Without it, any value matches (and none is set).')),
    effect: Type.Optional(EffectSchema('Effect of the taint. Without it, any effect matches.')),
    ensure: Type.Optional(
      Type.Enum([...ENSURED], {
        description:
          'Whether taintkeeper sets the taint. Always: every selected node gets the taint when it registers, and in mode Deny or Restore ' +
          'whenever it is missing. Only exempt users may remove ' +
          'the taint. It is not allowed for a taint that Kubernetes sets and removes itself, such as ' +
          'node.kubernetes.io/unschedulable. AtRegistration: every selected node gets the taint in the request that creates the ' +
          'Node, and never again. Every user may remove it, and no key with `*` of any policy covers it. Cluster API calls this ' +
          'OnInitialization. UntilReady: the same, and taintkeeper removes the taint when the DaemonSets of `readyWhen` are ready on the ' +
          'node. If the node registered without the taint, the leader sets it while the node carries ' +
          'node.kubernetes.io/not-ready:NoSchedule, and otherwise not. `ensure` needs a key without `*`, and an effect. Without `ensure`, taintkeeper never sets the taint.',
      }),
    ),
    readyWhen: Type.Optional(ReadyWhenSchema),
    restrict: Type.Optional(
      Type.Unsafe<readonly RestrictedChange[]>(
        Type.Array(Type.Enum([...RESTRICTED_CHANGES]), {
          description:
            'Changes that only exempt users may make. Removal: removing the taint, or changing its value; `ensure: Always` implies ' +
            'it. Addition: adding the taint to a node that is registered, or changing its value to one that the rule covers. ' +
            'Unselection: changing the labels of a node with the taint so that the nodeSelector no longer selects it; labels that a ' +
            'kubelet writes with its status are not restricted. For a change by another user, mode Deny refuses the request, Restore ' +
            'undoes a removal or an addition and refuses an unselection, and Audit reports it. A node may register with any taint. ' +
            'Addition and Unselection apply at once, also to a key with `*`, and never to taints that Kubernetes or an agent sets and removes, unless the key is ' +
            'exact. For a key such as node.kubernetes.io/unreachable, exempt the user that sets it, here ' +
            'system:serviceaccount:kube-system:node-controller. Otherwise failing nodes keep their pods.',
          minItems: 1,
          maxItems: RESTRICTED_CHANGES.length,
          uniqueItems: true,
        }),
      ),
    ),
  },
  { additionalProperties: false, ...celValidations([...RULE_CONSTRAINTS, NOT_IDLE]) },
);

export type TaintRule = Static<typeof TaintRuleSchema>;

/** The problems of a rule that its schema cannot express. */
export function checkRule(rule: TaintRule, path: Path): Problem[] {
  return [
    ...brokenConstraints(KEY_CONSTRAINTS, rule.key, [...path, 'key']),
    ...(rule.except ?? []).flatMap((key, number) =>
      brokenConstraints(KEY_CONSTRAINTS, key, [...path, 'except', number]),
    ),
    ...brokenConstraints(RULE_CONSTRAINTS, rule, path),
    ...checkPattern(rule, [...path, 'key']),
  ];
}

/** A pattern that only matches taints which Kubernetes, autoscalers or operators set and remove. No pattern ever covers those. */
function checkPattern({ key }: TaintRule, path: Path): Problem[] {
  // The pattern itself, taken as a key: if that is such a taint, so is everything that it could match.
  if (!isPattern(key) || !isTransientTaintKey(key)) return [];
  return [{ path, message: `"${key}" ${NOT_IDLE.message}` }];
}

export interface CompiledTaintRule extends TaintRule {
  /** For example `spec.taints[0]`. */
  readonly field: string;
  /** See {@link waitsForEstablishment}. */
  readonly waits: boolean;
}

/** Finds the first rule that matches a taint: by the taint's key, and by a pattern of keys. */
export function compileRules<Rule extends TaintRule>(rules: readonly Rule[]) {
  const patterns = rules.filter(({ key }) => isPattern(key)).map((rule) => ({ rule, matches: compileKey(rule) }));
  const exact = Map.groupBy(
    rules.filter(({ key }) => !isPattern(key)),
    ({ key }) => key,
  );
  return {
    exactly: (taint: Taint) => exact.get(taint.key)?.find((rule) => meansValueAndEffect(rule, taint)),
    byPattern: (taint: Taint) =>
      patterns.find(({ rule, matches }) => matches(taint.key) && meansValueAndEffect(rule, taint))?.rule,
  };
}

/** A pattern never matches a key of the transient taints, nor one that its rule excepts. */
function compileKey({ key: pattern, except = [] }: TaintRule): (key: string) => boolean {
  const matches = compilePattern(pattern);
  const isExcepted = matcherOfAny(except);
  return (key) => matches(key) && !isTransientTaintKey(key) && !isExcepted(key);
}

function meansValueAndEffect({ value, effect }: TaintRule, taint: Taint): boolean {
  return (effect === undefined || effect === taint.effect) && (value === undefined || value === (taint.value ?? ''));
}

/** Whether a text matches one of the patterns. */
export function matcherOfAny(patterns: readonly string[]): (text: string) => boolean {
  const exact = new Set(patterns.filter((pattern) => !isPattern(pattern)));
  const matchers = patterns.filter(isPattern).map(compilePattern);
  return (text) => exact.has(text) || matchers.some((matches) => matches(text));
}
