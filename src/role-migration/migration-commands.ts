import type { Workload, WorkloadKind } from '../coverage/workload.ts';
import { ALLOW_REMOVAL_ANNOTATION } from '../judge/allow-removal.ts';
import { jsonPointer, type Operation } from '../kubernetes/json-patch.ts';
import { ownValue } from '../kubernetes/label-selector.ts';
import { NEW_ROLE, OLD_ROLE } from '../kubernetes/roles.ts';
import { formatTaint } from '../kubernetes/taint.ts';
import { shellWord } from '../text/printable.ts';
import type { Change } from './migration-change.ts';

/**
 * The kubectl commands for the changes, in order. Nodes with the same change share a command.
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
  return [...commands.values()].flatMap(({ nodes, write }) => write(nodes.map(shellWord).join(' ')));
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
        write: (nodes) => [`kubectl label node ${nodes} ${shellWord(`${NEW_ROLE}=${change.value}`)}`],
      };
    case 'unlabel':
      return { node: change.node, write: (nodes) => [`kubectl label node ${nodes} ${OLD_ROLE}-`] };
    case 'taint':
      return {
        node: change.node,
        write: (nodes) => [`kubectl taint node ${nodes} ${shellWord(formatTaint(change.taint))}`],
      };
    case 'untaint': {
      const { node, taint, allowRemoval } = change;
      return {
        node,
        write: (nodes) => [
          ...(allowRemoval === undefined
            ? []
            : [
                `kubectl annotate --overwrite node ${nodes} ${shellWord(`${ALLOW_REMOVAL_ANNOTATION}=${allowRemoval}`)}`,
              ]),
          `kubectl taint node ${nodes} ${shellWord(`${taint.key}:${taint.effect}-`)}`,
        ],
      };
    }
    case 'policy': {
      const { kind, name } = change.policy;
      return patching(`${kind.toLowerCase()} ${shellWord(name)}`, change.operations);
    }
    case 'template': {
      const { namespace, kind, name } = change.workload;
      return patching(`-n ${shellWord(namespace)} ${kind.toLowerCase()} ${shellWord(name)}`, templatePatch(change));
    }
  }
}

function patching(target: string, operations: readonly Operation[]): Command {
  const patch = shellWord(JSON.stringify(operations));
  return { node: '', write: () => [`kubectl patch ${target} --type=json -p ${patch}`] };
}

const POD_SPEC: Readonly<Record<WorkloadKind, string>> = {
  DaemonSet: '/spec/template/spec',
  Deployment: '/spec/template/spec',
  StatefulSet: '/spec/template/spec',
  CronJob: '/spec/jobTemplate/spec/template/spec',
};

/** Each place is tested before it is changed, because the workload may have changed since it was read. */
function templatePatch({ workload, tolerations, selects }: Extract<Change, { kind: 'template' }>): Operation[] {
  const base = POD_SPEC[workload.kind];
  const added = tolerations.map((value): Operation => ({ op: 'add', path: `${base}/tolerations/-`, value }));
  return selects ? [...added, ...selectorOperations(workload, base), ...affinityOperations(workload, base)] : added;
}

function selectorOperations({ nodeSelector }: Workload, base: string): Operation[] {
  const value = ownValue(nodeSelector, OLD_ROLE);
  if (value === undefined) return [];
  const path = (key: string) => `${base}/nodeSelector${jsonPointer(key)}`;
  return [
    { op: 'test', path: path(OLD_ROLE), value },
    { op: 'remove', path: path(OLD_ROLE) },
    ...(ownValue(nodeSelector, NEW_ROLE) === undefined ? [{ op: 'add', path: path(NEW_ROLE), value } as const] : []),
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
