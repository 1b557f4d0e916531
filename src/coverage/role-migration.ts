import { ALLOW_REMOVAL_ANNOTATION } from '../judge/allow-removal.ts';
import { jsonPointer } from '../kubernetes/json-pointer.ts';
import { own } from '../kubernetes/label-selector.ts';
import { NEW_ROLE, OLD_ROLE } from '../kubernetes/roles.ts';
import { formatTaint } from '../kubernetes/taint.ts';
import { shellWord } from '../kubernetes/text.ts';
import { isTransientTaintKey } from '../kubernetes/transient-taints.ts';
import { compileCoverage } from '../scheduling/coverage.ts';
import {
  type Change,
  isSame,
  type MigratingNode,
  type MigrationFacts,
  type Operation,
  policiesChangedBy,
  type Workload,
  type WorkloadKind,
  withChange,
} from './role-facts.ts';
import { MIGRATION_RULES } from './role-rules.ts';

/** A step of the migration. Each depends on those before it. */
export interface MigrationStep {
  /** The state after the step. */
  readonly goal: string;
  /** The remaining changes. Empty if the step is done. */
  readonly changes: readonly Change[];
  /** What a user must decide, because no single command is right. */
  readonly byHand: readonly string[];
}

/**
 * The remaining steps for a cluster from the role `master` to `control-plane`, in an order in which no workload loses a node on which it may run.
 * Each change is tried on the resulting facts. A change by which a workload would lose a node is left to a user.
 */
export function planMigration(facts: MigrationFacts): MigrationStep[] {
  let now: MigrationFacts = { ...facts, nodes: facts.nodes.map(atRest) };
  return MIGRATION_RULES.map(({ goal, find }) => {
    const found = find(now);
    const byHand = [...found.byHand];
    const changes = found.changes.flatMap((proposed) => {
      const losses = lossesBetween(now, withChange(now, proposed), proposed);
      byHand.push(...losses);
      const change = losses.length === 0 ? proposed : harmlessPart(proposed);
      if (change) now = withChange(now, change);
      return change ?? [];
    });
    return { goal, changes, byHand };
  });
}

/** The changes by which certainly no workload loses a node. */
function harmlessPart(change: Change): Change | undefined {
  return change.kind === 'template' && change.tolerations.length > 0 ? { ...change, selects: false } : undefined;
}

/** Without transient taints: a workload that may run on the node without them must not lose it, either. */
function atRest(node: MigratingNode): MigratingNode {
  return { ...node, taints: node.taints.filter(({ key }) => !isTransientTaintKey(key)) };
}

/** The workloads that may run on a node before the change and not after it, one line each. */
function lossesBetween(before: MigrationFacts, after: MigrationFacts, change: Change): string[] {
  switch (change.kind) {
    case 'template': {
      // No workload loses a node by a toleration.
      if (!change.selects) return [];
      const workload = after.workloads.find((each) => isSame(each, change.workload));
      if (!workload) return [];
      const mayRunOn = [change.workload, workload].map(compileCoverage);
      const lost = before.nodes.filter((node) => mayRunOn[0]?.(node).runs && !mayRunOn[1]?.(node).runs);
      const [first] = lost;
      if (!first) return [];
      const others = lost.length > 1 ? ` and ${lost.length - 1} more` : '';
      return [
        `${nameOf(workload)} chooses its nodes by the old label, and by the new one would lose ${first.name}${others}: change its template`,
      ];
    }
    case 'policy':
      // The added toleration is already present or implied on every node where it matters.
      return [];
    case 'label':
    case 'unlabel':
    case 'taint':
    case 'untaint': {
      const was = before.nodes.find(({ name }) => name === change.node);
      const is = after.nodes.find(({ name }) => name === change.node);
      if (!was || !is) return [];
      const { entered, left } = policiesChangedBy(before.policies, was.labels, is.labels);
      const tainting = entered.length > 0 && is.taints.length > was.taints.length;
      const what = `${WORDS[change.kind]} ${change.node}${tainting ? `, with the taints of TaintPolicy ${entered.join(', ')},` : ''}`;
      const lost = before.workloads
        .filter((workload) => {
          const coverageOn = compileCoverage(workload);
          return coverageOn(was).runs && !coverageOn(is).runs;
        })
        .map((workload) => {
          const advice = tainting ? ': do the other steps first, and run the command again' : '';
          return `${what} would cost ${nameOf(workload)} this node${advice}`;
        });
      if (change.kind !== 'unlabel') return lost;
      // A policy must not lose or gain nodes by the change of a name.
      return [
        ...lost,
        ...left.map(
          (name) => `${WORDS.unlabel} ${change.node} would take the node from TaintPolicy ${name}: change it first`,
        ),
        ...entered.map(
          (name) => `${WORDS.unlabel} ${change.node} would bring the node under TaintPolicy ${name}: change it first`,
        ),
      ];
    }
  }
}

/** What `kubeadm upgrade` writes anew, with its own tolerations (k8s.io/kubernetes/cmd/kubeadm/app/phases/addons/dns). */
const KUBEADM_ADDONS: readonly string[] = ['Deployment kube-system/coredns'];

/** What a user must know of the changes of a step, besides the managers of the workloads. */
export function migrationNotes({ changes }: Pick<MigrationStep, 'changes'>): string[] {
  const reset = changes.flatMap((change) => {
    if (change.kind !== 'template' || change.workload.managedBy !== undefined) return [];
    const name = nameOf(change.workload);
    return KUBEADM_ADDONS.includes(name) ? [name] : [];
  });
  return reset.map(
    (name) =>
      `${name}: kubeadm upgrade resets it, if kubeadm installed it. Finish all steps before the next upgrade, or run this again after it`,
  );
}

const WORDS = {
  label: 'the new label on',
  unlabel: 'taking the old label from',
  taint: 'the new taint on',
  untaint: 'taking the old taint from',
} as const;

/** `DaemonSet kube-system/etcd-backup`. */
export function nameOf({ kind, namespace, name }: Workload): string {
  return `${kind} ${namespace}/${name}`;
}

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
  const value = own(nodeSelector, OLD_ROLE);
  if (value === undefined) return [];
  const path = (key: string) => `${base}/nodeSelector${jsonPointer(key)}`;
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
