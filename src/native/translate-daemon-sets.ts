import { conditionalList, joined } from '../cel/conditional-lists.ts';
import { all, cel, choose, type Expression, literal, referenced, type Variable } from '../cel/expression.ts';
import { EMPTY } from '../cel/lists.ts';
import {
  NOT_DELETED,
  NOT_IGNORED,
  normalized,
  normalizedLiteral,
  SAME_TEMPLATE,
  SELECTION_VARIABLES,
  selectsDaemonSet,
  TOLERATIONS,
  TOLERATIONS_BEFORE,
} from '../cel-rules/daemon-sets.ts';
import { TOLERATIONS_POINTER, type Toleration } from '../kubernetes/toleration.ts';
import { namespaceRequirements } from '../policy/daemon-set-selection.ts';
import type { CompiledTolerationPolicy } from '../policy/policy-set.ts';
import { conclude, mutating, validating } from './assemble.ts';
import { nativeName } from './native-parts.ts';
import type { NativeLimit, NativeTranslation, ResourceRule, Target } from './native-policy.ts';
import { lackingLists, needsAmong, type RequiredTolerations, requiredWith } from './required-tolerations.ts';
import { lacksAny, missingReport } from './toleration-report.ts';

const DAEMON_SETS: readonly ResourceRule[] = [
  { apiGroups: ['apps'], apiVersions: ['v1'], resources: ['daemonsets'], operations: ['CREATE', 'UPDATE'] },
];

const NOT_LEFT_ALONE = all([NOT_DELETED, NOT_IGNORED]);

/**
 * A TolerationPolicy as native policies. The additions of all policies for the same DaemonSet form one list in one order. So each policy also adds
 * for the others, and the ones after the first add nothing.
 */
export function translateDaemonSets(
  policy: CompiledTolerationPolicy,
  among: readonly CompiledTolerationPolicy[],
  target: Target,
): NativeTranslation {
  const { name, mode, daemonSets } = policy;
  const mutates = target.mutates && mode === 'Mutate';
  const namespaces = namespaceRequirements(daemonSets.namespaces);
  const common = {
    failurePolicy: 'Ignore',
    resourceRules: DAEMON_SETS,
    ...(namespaces.length > 0 ? { namespaceSelector: { matchExpressions: namespaces } } : {}),
    conditions: { 'is-selected': selectsDaemonSet(daemonSets), 'is-not-left-alone': NOT_LEFT_ALONE },
  } as const;
  const additions = additionsOf(
    requiredWith(
      policy,
      among.filter((other) => other.mode === 'Mutate'),
    ),
  );
  const report = missingReport(policy, requiredWith(policy, among), target.mutates);
  return conclude(
    policy,
    [
      ...(mutates
        ? mutating({
            ...common,
            name: nativeName(name, 'tolerate'),
            conditions: { ...common.conditions, 'lacks-a-toleration': lacksAny(policy) },
            variables: [...SELECTION_VARIABLES, ...additions.variables],
            mutations: [additions.patch],
            reinvocationPolicy: 'Never',
          })
        : []),
      ...(report
        ? validating({
            ...common,
            name: nativeName(name, 'report-tolerations'),
            variables: [...SELECTION_VARIABLES, ...report.variables],
            validations: [report.validation],
            auditAnnotations: report.auditAnnotations,
            // With the action Audit, the API server keeps the message of one policy only, and logs that it lost those of the others.
            actions: target.purpose === 'Alone' ? ['Warn'] : ['Audit'],
          })
        : []),
    ],
    limitsOf(policy, target),
  );
}

function limitsOf({ mode, patchesExisting }: CompiledTolerationPolicy, { mutates }: Target): NativeLimit[] {
  return [
    ...(mode === 'Mutate' && !mutates
      ? [
          {
            field: 'spec.mode',
            message: 'the API server changes nothing: tolerations are not added, they are only reported as missing',
          },
        ]
      : []),
    ...(patchesExisting
      ? [{ field: 'spec.existing', message: 'DaemonSets that already run get no toleration before their next change' }]
      : []),
  ];
}

/** Item by item: existing items are not replaced. */
function patchOf(added: Variable): Expression {
  return choose(
    cel(5)`size(${added}) == 0 || has(object.spec.template.spec.tolerations)`,
    cel((size) => 10 + size * 40)`${added}.map(t, JSONPatch{op: "add", path: "${TOLERATIONS_POINTER}/-", value: t})`,
    cel(40)`[JSONPatch{op: "add", path: "${TOLERATIONS_POINTER}", value: ${added}}]`,
  );
}

const NOW: Variable = { name: 'now', definition: normalized(TOLERATIONS) };
const [OLD_TOLERATIONS, BEFORE] = TOLERATIONS_BEFORE;

/** Whether the pods of a DaemonSet with these required tolerations do not restart once it gets back what an update removes. */
function isAsBefore(required: Variable): Expression {
  return all([
    referenced(SAME_TEMPLATE),
    cel(3)`size(${BEFORE}) >= size(${NOW})`,
    // Each costs as much as the compared fields. The required tolerations have their own cost.
    cel((size) => size * 80)`${BEFORE}.all(i, t, i < size(${NOW}) ? t == ${NOW}[i] : t in ${required})`,
  ]);
}

/** The removed tolerations as new maps, because an item itself must not be in a patch, for the reason in `puttingTaints`. */
const TAKEN_OUT: Variable = {
  name: 'takenOut',
  definition: cel((size) => 10 + size * 110)`${OLD_TOLERATIONS}.transformList(i, t, i >= size(${NOW}), {
  "key": dyn(has(t.key) ? t.key : ""), "operator": dyn(has(t.operator) ? t.operator : ""),
  "value": dyn(has(t.value) ? t.value : ""), "effect": dyn(has(t.effect) ? t.effect : ""),
  "tolerationSeconds": has(t.tolerationSeconds) ? dyn(t.tolerationSeconds) : dyn(null)
})`,
};

/** The additions for a DaemonSet with these required tolerations: those of {@link judgeDaemonSet}, as a JSON patch in CEL. */
function additionsOf({ variables, required }: RequiredTolerations): {
  variables: readonly Variable[];
  patch: Expression;
} {
  const lacking = lackingLists(needsAmong(required), {
    write: ({ required }) => patchLiteral(required.toleration),
    read: 'need.required',
  });
  const requiredTolerations: Variable = {
    name: 'required',
    definition: conditionalList(
      required.map(({ condition, toleration }) => ({ condition, item: cel(0)`${normalizedLiteral(toleration)}` })),
    ),
  };
  const asBefore: Variable = { name: 'asBefore', definition: isAsBefore(requiredTolerations) };
  const added: Variable = {
    name: 'added',
    definition: choose(referenced(asBefore), referenced(TAKEN_OUT), lacking.length > 0 ? joined(lacking) : EMPTY),
  };
  return {
    variables: [
      TOLERATIONS,
      ...variables,
      ...TOLERATIONS_BEFORE,
      requiredTolerations,
      SAME_TEMPLATE,
      NOW,
      asBefore,
      TAKEN_OUT,
      ...lacking,
      added,
    ],
    patch: patchOf(added),
  };
}

/** The toleration as a map in CEL. Empty fields are absent in the object. */
function patchLiteral({ key, operator, value, effect, tolerationSeconds }: Toleration): string {
  // Values of a map have one type. If one of them is a number, all are dynamic.
  const dynamic = tolerationSeconds != null;
  const written = (text: string) => (dynamic ? `dyn(${text})` : text);
  const fields = Object.entries({ key, operator, value, effect }).map(
    ([field, text]) => `"${field}": ${written(literal(text ?? ''))}`,
  );
  const seconds = dynamic ? [`"tolerationSeconds": ${written(String(tolerationSeconds))}`] : [];
  return `{${[...fields, ...seconds].join(', ')}}`;
}
