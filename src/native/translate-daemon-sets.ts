import { all } from '../cel/expression.ts';
import { NOT_DELETED, NOT_IGNORED, SELECTION_VARIABLES, selectsDaemonSet } from '../cel-rules/daemon-set-selection.ts';
import type { CompiledTolerationPolicy } from '../policy/compiled-toleration-policy.ts';
import { namespaceRequirements } from '../policy/daemon-set-selection.ts';
import { mutating, validating } from './assemble.ts';
import { nativeName } from './native-parts.ts';
import type { ResourceRule } from './native-policy.ts';
import { requiredWith } from './required-tolerations.ts';
import { additionsOf, lacksAny } from './toleration-additions.ts';
import { missingReport } from './toleration-report.ts';
import { type NativeLimit, type NativeTranslation, type Target, translationOf } from './translation.ts';

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
  return translationOf(
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
