import { all as every } from '../cel/expression.ts';
import { NOT_DELETED, NOT_IGNORED, SELECTION_VARIABLES, selectsDaemonSet } from '../conditions/daemon-sets.ts';
import { namespaceRequirements } from '../policy/daemon-set-selection.ts';
import type { TolerationPolicy } from '../policy/policy.ts';
import { mutating, validating } from './assemble.ts';
import { conclude } from './conclude.ts';
import type { NativeLimit, NativeTranslation, ResourceRule, TranslationOptions } from './native-policy.ts';
import { additionsOf, lackedOf, lacksAny } from './tolerations.ts';
import { wantedWith } from './wanted-tolerations.ts';

const DAEMON_SETS: readonly ResourceRule[] = [
  { apiGroups: ['apps'], apiVersions: ['v1'], resources: ['daemonsets'], operations: ['CREATE', 'UPDATE'] },
];

const NOT_LEFT_ALONE = every([NOT_DELETED, NOT_IGNORED]);

/**
 * A TolerationPolicy in the API server's own language. The additions of all policies that are for the same DaemonSet make one
 * list, in one order: so each adds for the others as well, and whichever comes first leaves nothing to do to the next one.
 */
export function translateDaemonSets(policy: TolerationPolicy, options: TranslationOptions): NativeTranslation {
  const { name, spec } = policy;
  const mutates = options.mutates && spec.mode === 'Mutate';
  const all = options.among.filter((other) => other.kind === 'TolerationPolicy');
  const namespaces = namespaceRequirements(spec.daemonSets.namespaces);
  const common = {
    failurePolicy: 'Ignore',
    resourceRules: DAEMON_SETS,
    ...(namespaces.length > 0 ? { namespaceSelector: { matchExpressions: namespaces } } : {}),
    conditions: { 'is-selected': selectsDaemonSet(spec.daemonSets), 'is-not-left-alone': NOT_LEFT_ALONE },
  } as const;
  const additions = additionsOf(
    wantedWith(
      policy,
      all.filter((other) => other.spec.mode === 'Mutate'),
    ),
  );
  const lacked = lackedOf(policy, wantedWith(policy, all), options.mutates);
  return conclude(
    policy,
    [
      ...(mutates
        ? mutating({
            ...common,
            name: `${name}.tolerate.taintkeeper.dev`,
            conditions: { ...common.conditions, 'lacks-a-toleration': lacksAny(policy) },
            variables: [...SELECTION_VARIABLES, ...additions.variables],
            mutations: [additions.patch],
            reinvocationPolicy: 'Never',
          })
        : []),
      ...(lacked
        ? validating({
            ...common,
            name: `${name}.report-tolerations.taintkeeper.dev`,
            variables: [...SELECTION_VARIABLES, ...lacked.variables],
            validations: [lacked.validation],
            auditAnnotations: lacked.auditAnnotations,
            // With the action Audit, the API server keeps the words of one policy only, and logs that it lost those of the others.
            actions: options.purpose === 'Alone' ? ['Warn'] : ['Audit'],
          })
        : []),
    ],
    limitsOf(policy, options),
  );
}

function limitsOf({ spec }: TolerationPolicy, { mutates }: TranslationOptions): NativeLimit[] {
  return [
    ...(spec.mode === 'Mutate' && !mutates
      ? [
          {
            field: 'spec.mode',
            message: 'the API server changes nothing: tolerations are not added, they are only reported as missing',
          },
        ]
      : []),
    ...(spec.existing === 'Patch'
      ? [{ field: 'spec.existing', message: 'DaemonSets that already run get no toleration before their next change' }]
      : []),
  ];
}
