import { RELEASE_ANNOTATION } from '../judge/removal.ts';
import { own } from '../kubernetes/label-selector.ts';
import { formatTaint } from '../kubernetes/taint.ts';
import { printable } from '../kubernetes/text.ts';
import { type Change, NEW_ROLE, OLD_ROLE, type Operation, type Workload, type WorkloadKind } from './role-facts.ts';

/**
 * The kubectl commands for the changes, in their order: those for nodes of which the same is asked are one command.
 */
export function migrationCommands(changes: readonly Change[]): string[] {
  const commands = new Map<string, { nodes: string[]; write: (nodes: string) => string[] }>();
  for (const change of changes) {
    const { node, write } = commandFor(change);
    const likeness = write('').join('\n');
    const command = commands.get(likeness);
    if (command) command.nodes.push(node);
    else commands.set(likeness, { nodes: [node], write });
  }
  return [...commands.values()].flatMap(({ nodes, write }) => write(nodes.map(quote).join(' ')));
}

interface Command {
  /** Empty for a workload, or a policy. */
  readonly node: string;
  readonly write: (nodes: string) => string[];
}

function commandFor(change: Change): Command {
  switch (change.kind) {
    case 'label':
      return {
        node: change.node,
        write: (nodes) => [`kubectl label node ${nodes} ${quote(`${NEW_ROLE}=${change.value}`)}`],
      };
    case 'unlabel':
      return { node: change.node, write: (nodes) => [`kubectl label node ${nodes} ${OLD_ROLE}-`] };
    case 'taint':
      return {
        node: change.node,
        write: (nodes) => [`kubectl taint node ${nodes} ${quote(formatTaint(change.taint))}`],
      };
    case 'untaint': {
      const { node, taint, release } = change;
      return {
        node,
        write: (nodes) => [
          ...(release
            ? [`kubectl annotate --overwrite node ${nodes} ${quote(`${RELEASE_ANNOTATION}=${formatTaint(taint)}`)}`]
            : []),
          `kubectl taint node ${nodes} ${quote(`${taint.key}:${taint.effect}-`)}`,
        ],
      };
    }
    case 'policy': {
      const { kind, name } = change.policy;
      return patching(`${kind.toLowerCase()} ${quote(name)}`, change.operations);
    }
    case 'template': {
      const { namespace, kind, name } = change.workload;
      return patching(`-n ${quote(namespace)} ${kind.toLowerCase()} ${quote(name)}`, templatePatch(change));
    }
  }
}

function patching(target: string, operations: readonly Operation[]): Command {
  const patch = quote(JSON.stringify(operations));
  return { node: '', write: () => [`kubectl patch ${target} --type=json -p ${patch}`] };
}

const POD_SPEC: Readonly<Record<WorkloadKind, string>> = {
  DaemonSet: '/spec/template/spec',
  Deployment: '/spec/template/spec',
  StatefulSet: '/spec/template/spec',
  CronJob: '/spec/jobTemplate/spec/template/spec',
};

/** Each place is tested before it is changed: the workload may have changed since it was looked at. */
function templatePatch({ workload, tolerations, selects }: Extract<Change, { kind: 'template' }>): Operation[] {
  const base = POD_SPEC[workload.kind];
  const added = tolerations.map((value): Operation => ({ op: 'add', path: `${base}/tolerations/-`, value }));
  return selects ? [...added, ...selectorOperations(workload, base), ...affinityOperations(workload, base)] : added;
}

function selectorOperations({ nodeSelector }: Workload, base: string): Operation[] {
  const value = own(nodeSelector, OLD_ROLE);
  if (value === undefined) return [];
  const path = (key: string) => `${base}/nodeSelector/${escapePointer(key)}`;
  return [
    { op: 'test', path: path(OLD_ROLE), value },
    { op: 'remove', path: path(OLD_ROLE) },
    ...(own(nodeSelector, NEW_ROLE) === undefined ? [{ op: 'add', path: path(NEW_ROLE), value } as const] : []),
  ];
}

function affinityOperations({ nodeAffinity = [] }: Workload, base: string): Operation[] {
  const terms = `${base}/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms`;
  return nodeAffinity.flatMap(({ matchExpressions }, term) =>
    matchExpressions.flatMap(({ key }, index): Operation[] => {
      if (key !== OLD_ROLE) return [];
      const path = `${terms}/${term}/matchExpressions/${index}/key`;
      return [
        { op: 'test', path, value: OLD_ROLE },
        { op: 'replace', path, value: NEW_ROLE },
      ];
    }),
  );
}

function escapePointer(text: string): string {
  return text.replaceAll('~', '~0').replaceAll('/', '~1');
}

/** A word of a shell command that means nothing but itself: names come from objects. */
function quote(word: string): string {
  return /^[\w.:/=,@-]+$/.test(word) ? word : `'${printable(word).replaceAll("'", "'\\''")}'`;
}
