import { describeOwner, type ManagedFields } from '../controllers/managed-objects.ts';
import { ROLE_TAINT_KEYS } from '../coverage/fix.ts';
import type { DaemonExplanation, TolerationOnDaemon } from '../doctor/daemon-explanation.ts';
import { IGNORE_ANNOTATION } from '../judge/daemon-set.ts';
import { formatTaint } from '../kubernetes/taint.ts';
import { printable, shellWord } from '../kubernetes/text.ts';
import { closing, type ExplainedNode } from './explain-output.ts';
import type { OutputFormat } from './options.ts';
import { columns, formatAs, type Look, namesIn } from './output.ts';

/** A DaemonSet or a pod, and what there is to say of it. */
export interface ExplainedDaemon extends DaemonExplanation, Pick<ExplainedNode, 'troubles' | 'events' | 'notes'> {
  readonly kind: 'daemonset' | 'pod';
  readonly namespace: string;
  readonly name: string;
  /** For a pod: how it is, and the node that it is bound to or made for. */
  readonly pod?: { readonly node: string | undefined; readonly state: string; readonly why: string | undefined };
  readonly managedBy: string | undefined;
  /** Who wrote the pod template last, as the API server has noted. */
  readonly writtenBy: ManagedFields | undefined;
  /** Where pods of a DaemonSet are to be, and are not scheduled. */
  readonly missingPods: readonly { readonly node: string; readonly why: string }[];
}

/** Whether nothing is missing, and no taint that stays keeps pods off. */
export function isWell({ tolerations, gaps, pod }: ExplainedDaemon): boolean {
  const complete = tolerations.every(({ state }) => state !== 'missing') && (pod?.state ?? 'scheduled') === 'scheduled';
  return complete && (gaps.length === 0 || pod !== undefined);
}

/** The result of `taintkeeper explain daemonset` and `explain pod` as text. */
export function formatDaemon(explained: ExplainedDaemon, format: OutputFormat): string {
  return formatAs(format, { data: () => data(explained), table: (look) => sections(explained, look).join('\n') });
}

function data({ gaps, writtenBy, ...rest }: ExplainedDaemon): object {
  return {
    ...rest,
    gaps: [...new Set(gaps.map(formatTaint))],
    ...(writtenBy ? { writtenBy: { ...writtenBy, fieldsV1: undefined } } : {}),
    next: nextStep({ gaps, writtenBy, ...rest }),
  };
}

/** So many names of nodes say enough of many. */
const NAMES = 4;

function sections(explained: ExplainedDaemon, look: Look): string[] {
  const { kind, namespace, name, optsOut, tolerations, policies, places, writtenBy, managedBy } = explained;
  const facts = [
    ...podLines(explained),
    ...(optsOut ? [`it is annotated ${IGNORE_ANNOTATION}: policies leave it alone`] : []),
    ...(writtenBy ? [`spec.template was last written by ${describeOwner(writtenBy)}`] : []),
    ...(managedBy === undefined ? [] : [`it is managed by ${managedBy}`]),
  ];
  return [
    tolerations.length === 0
      ? printable(`${kind} ${namespace}/${name} has no tolerations of its own, and no policy wants one there\n`)
      : columns(
          [
            ['TOLERATION', 'STATE', 'WHY'],
            ...tolerations.map((one) => [printable(one.toleration), one.state, whyOf(one)]),
          ],
          look,
        ),
    ...(facts.length > 0 ? [facts.map((fact) => `${printable(fact)}\n`).join('')] : []),
    policies.length === 0
      ? noPolicies(explained)
      : columns(
          [
            ['POLICY', 'MODE', kind === 'pod' ? 'ITS DAEMONSET' : 'THIS DAEMONSET'],
            ...policies
              .toSorted((a, b) => Number(a.unmet.length > 0) - Number(b.unmet.length > 0))
              .map(({ kind, policy, mode, unmet }) => [
                `${kind} ${policy}`,
                mode,
                unmet.length === 0 ? 'is selected' : printable(`is not selected: needs ${unmet.join(', ')}`),
              ]),
          ],
          look,
        ),
    ...(places.length === 0
      ? []
      : [
          columns(
            [
              ['NODES', 'WHICH', kind === 'pod' ? 'IT CAN RUN' : 'RUNS', 'WHY NOT'],
              ...places.map(({ nodes, runs, why, passing }) => [
                String(nodes.length),
                namesIn(nodes, NAMES, look),
                runs ? 'yes' : passing ? 'not yet' : 'no',
                printable(why.join('; ')),
              ]),
            ],
            look,
          ),
        ]),
    ...missingTable(explained, look),
    ...closing(explained, nextStep(explained), look),
  ];
}

function missingTable({ missingPods }: ExplainedDaemon, look: Look): string[] {
  const alike = [...Map.groupBy(missingPods, ({ why }) => why)];
  const rows = alike.map(([why, pods]) => {
    const nodes = pods.map(({ node }) => node);
    return [String(nodes.length), namesIn(nodes, NAMES, look), printable(why)];
  });
  return rows.length === 0 ? [] : [columns([['MISSING PODS', 'WHICH NODES', 'WHY'], ...rows], look)];
}

function podLines({ pod, managedBy }: ExplainedDaemon): string[] {
  if (pod === undefined) return [];
  const { node, state, why } = pod;
  const where =
    node === undefined ? 'for no certain node' : state === 'scheduled' ? `on node ${node}` : `for node ${node}`;
  return [
    `it is ${state} ${where}${why === undefined ? '' : `: ${why}`}`,
    ...(managedBy?.startsWith('DaemonSet ') ? [] : ['it is not of a DaemonSet: no policy is about it']),
  ];
}

function noPolicies({ kind, managedBy }: ExplainedDaemon): string {
  const isOthers = kind === 'pod' && !managedBy?.startsWith('DaemonSet ');
  return isOthers ? '' : 'there are no TolerationPolicies and no RecoveryPolicies\n';
}

function whyOf({ state, by }: TolerationOnDaemon): string {
  const named = by.map(({ policy, mode, field }) => `${policy} (${mode}, ${field})`).join(', ');
  switch (state) {
    case 'own':
      return 'no policy asks for it';
    case 'asked':
      return `asked for by ${named}`;
    case 'missing':
      return `wanted by ${named}`;
  }
}

/** The one thing to do next, as a command where there is one. */
function nextStep(explained: ExplainedDaemon): string {
  return explained.kind === 'pod' ? nextOfPod(explained) : nextOfDaemonSet(explained);
}

function nextOfDaemonSet({
  namespace,
  name,
  tolerations,
  policies,
  gaps,
  optsOut,
  missingPods,
  troubles,
}: ExplainedDaemon) {
  const target = `-n ${shellWord(namespace)} daemonset`;
  const keys = [...new Set(gaps.map(({ key }) => key))];
  if (optsOut && gaps.length > 0) return `kubectl annotate ${target} ${shellWord(name)} ${IGNORE_ANNOTATION}-`;
  const wanting = tolerations
    .flatMap(({ state, by }) => (state === 'missing' ? by : []))
    .filter(({ mode }) => mode === 'Mutate');
  if (wanting.length > 0) {
    const isPatched = policies.some(
      ({ policy, patchesExisting }) => patchesExisting && wanting.some((by) => by.policy === policy),
    );
    // The leader patches one DaemonSet after the other, where it may.
    return isPatched ? 'taintkeeper doctor' : `kubectl rollout restart ${target} ${shellWord(name)}`;
  }
  if (gaps.length > 0) {
    const others = keys.filter((key) => !ROLE_TAINT_KEYS.some((role) => role === key));
    const asked = others.map((key) => ` --taint ${shellWord(key)}`).join('');
    return `taintkeeper coverage -n ${shellWord(namespace)} --daemonset ${shellWord(name)} --fix${asked}`;
  }
  if (troubles.length > 0) return 'taintkeeper doctor';
  if (missingPods.length > 0) {
    return `kubectl get events -n ${shellWord(namespace)} --field-selector involvedObject.kind=DaemonSet,involvedObject.name=${shellWord(name)}`;
  }
  return 'nothing: no taint that stays keeps it off a node';
}

function nextOfPod({ namespace, name, tolerations, pod, managedBy, gaps }: ExplainedDaemon): string {
  const [kind, owner = ''] = managedBy?.split(' ') ?? [];
  const isLacking = gaps.length > 0 || tolerations.some(({ state }) => state === 'missing');
  if (kind === 'DaemonSet' && isLacking) return `taintkeeper explain daemonset ${shellWord(`${namespace}/${owner}`)}`;
  if (pod && pod.state !== 'scheduled') return `kubectl describe pod -n ${shellWord(namespace)} ${shellWord(name)}`;
  return 'nothing: it is scheduled';
}
