import type { Violation } from '../judge/violation.ts';
import type { PolicyKind } from '../policy/policy.ts';
import type { Harm } from '../policy/reporting/harm.ts';
import type { ConditionLevel } from '../policy/reporting/status-conditions.ts';
import type { Check } from '../server/admin-server.ts';

/**
 * What the page shows, all of it: the JSON of `GET /api/state`, with an ETag that is another one whenever anything but `at` is.
 * What does not apply is absent. Text from the cluster is not escaped: show it as text, never as markup.
 */
export interface PageState {
  readonly version: string;
  /** Identifies the page's files. A page with other files may not understand the state. */
  readonly build: string;
  /** The name of the replica that serves it. */
  readonly replica: string;
  /** Policies and certificates from files, or from an API server. */
  readonly mode: 'standalone' | 'cluster';
  readonly leader: Leader;
  /** taintkeeper runs with --audit. */
  readonly audit: boolean;
  /** When it was computed, ISO 8601. */
  readonly at: string;
  /** As `/readyz` has them. */
  readonly checks: readonly Check[];
  /** Absent while there is none yet. */
  readonly certificate?: CertificateState;
  /** As they are registered with the API server; none in standalone mode. */
  readonly webhooks: readonly WebhookState[];
  readonly policies: readonly PolicyState[];
  /** The worst first. */
  readonly problems: readonly PageProblem[];
  /** Only on the leader, once it has read the nodes. */
  readonly nodes?: NodeMap;
  /** As `nodes`. */
  readonly coverage?: CoverageMatrix;
}

/** A problem, with what to do about it. */
export interface PageProblem {
  readonly harm: Harm;
  /** `repairing`: it ends by itself. */
  readonly level: 'failed' | 'attention' | 'repairing';
  readonly text: string;
  /** What shows all of it. */
  readonly place?: Place;
  /** The first few whom it concerns. */
  readonly names: readonly NamedPlace[];
  /** How many there are besides those. */
  readonly more: number;
  readonly why?: string;
  readonly fix?: Fix;
}

/** A view of the page: a tab, one of its objects, and the filters of its list. */
export interface Place {
  readonly tab: 'nodes' | 'coverage' | 'policies' | 'decisions';
  readonly object?: string;
  readonly filters?: Readonly<Record<string, string>>;
}

/** The name of an object, and what shows it. */
export interface NamedPlace {
  readonly text: string;
  /** Absent if no tab does. */
  readonly place?: Place;
}

/** What to do about a problem. */
export interface Fix {
  /** To be pasted into a shell. */
  readonly command: string;
  /** What it does, and what a user should know before. May be empty. */
  readonly note: string;
}

export interface Leader {
  /** True in standalone mode. */
  readonly isThis: boolean;
  /** Absent if there is no leader, or it is not known. */
  readonly name?: string;
}

export interface CertificateState {
  /** ISO 8601, as all times here. */
  readonly notAfter: string;
  /** Whole days until then. Negative: it has expired. */
  readonly daysLeft: number;
  /** It should have been renewed by now. */
  readonly expiresSoon: boolean;
}

export interface WebhookState {
  /** For example `protect.taintkeeper.dev`. */
  readonly name: string;
  /** Whether its `caBundle` has the CA of what this replica serves; absent where that CA is not known. */
  readonly trusted?: boolean;
}

export interface PolicyState {
  readonly kind: PolicyKind;
  readonly name: string;
  /** The mode in force. Absent if the policy is not in force. */
  readonly mode?: string;
  /** False: the present spec is not in force, and `problems` says why. */
  readonly valid: boolean;
  readonly problems: readonly string[];
  /** Of a policy that is not valid: the earlier generation that stays in force, if one does. */
  readonly generationInForce?: number;
  /** How many nodes or DaemonSets it selects, and how many of them differ from it, by its status. */
  readonly matched?: number;
  readonly violating?: number;
  /** The first few of those, by name. */
  readonly violators: readonly NamedPlace[];
  readonly conditions: readonly ConditionState[];
  readonly summary: PolicySummary;
  /** The `spec` in force, YAML. Empty if none is. */
  readonly spec: string;
  /** The policy patches DaemonSets that already run. */
  readonly patchesExisting?: true;
}

/** The state of a policy: the worst of what is known of it. */
export interface PolicySummary {
  readonly level: 'ok' | 'attention' | 'failed';
  /** Such as `in force`. */
  readonly word: string;
  /** May be empty. */
  readonly why: string;
}

export interface ConditionState {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
  /** Since when, ISO 8601. */
  readonly since: string;
  readonly level: ConditionLevel;
  /** What the policy is, such as `stalled`; absent where the level is `quiet`. */
  readonly word?: string;
  /** What to do, in one sentence. */
  readonly next?: string;
}

/**
 * The state of a taint on a node, as a letter:
 * `k` protected, `u` carried, and not protected: the policy is in mode Audit, and only reports the removal, `m` missing (lost, or never set), `d` carried with another value, `c` conflict: another writer removes it repeatedly,
 * `r` kept off by an entry of the annotation allow-removal, `a` neither carried nor required, `-` the policy does not select the node.
 */
export type NodeCell = 'k' | 'u' | LostCell | 'r' | 'a' | '-';

/** The state of a required taint that the node does not carry. */
export type LostCell = 'm' | 'd' | 'c';

export interface NodeMap {
  /** One for each taint of a policy, at most 200. */
  readonly columns: readonly NodeColumn[];
  readonly columnsLeftOut: number;
  /** By name. */
  readonly rows: readonly NodeRow[];
  /** All different notes: rows refer to them by index. */
  readonly notes: readonly NodeNote[];
  /** How many nodes are selected by no policy, and so have no row. */
  readonly unselected: number;
  /** The names of all pools: rows refer to them by index. */
  readonly pools: readonly string[];
  /** Nodes whose startup taints wait for something, by name, at most 200. */
  readonly waiting: readonly WaitingNode[];
  readonly waitingLeftOut: number;
}

/** A node that has a startup taint of `ensure: UntilReady`. */
export interface WaitingNode {
  readonly name: string;
  /** Which taint, and for which part of `readyWhen`, in words. */
  readonly what: string;
  /** Since when the node has been Ready with its taints, ISO 8601. Absent if it is not Ready. */
  readonly since?: string;
}

export interface NodeColumn {
  readonly policy: string;
  /** For example `spec.taints[0]`. */
  readonly field: string;
  readonly mode: string;
  /** `key=value:Effect`. The key may be a pattern, and value and effect may be absent. */
  readonly taint: string;
}

export interface NodeRow {
  readonly name: string;
  readonly ready: boolean;
  /** An index into {@link NodeMap.pools}. */
  readonly pool: number;
  /** A {@link NodeCell} for each column, one after the other. */
  readonly cells: string;
  /** Each {@link LostCell}: the index of its column, and that of its note in {@link NodeMap.notes}. Absent if there are none. */
  readonly losses?: readonly (readonly [column: number, note: number])[];
}

/** A required taint that a node does not carry. Taints are as kubectl writes them. */
export interface NodeNote {
  readonly taint: string;
  /** What the node carries in its place: the same key and effect, another value. */
  readonly carries?: string;
  /** Why it is not set, or that it is about to be. */
  readonly why: string;
  readonly harm: Harm;
}

export interface CoverageMatrix {
  /** Nodes that have the same answer for every DaemonSet; the largest group first, at most 200. */
  readonly groups: readonly NodeGroup[];
  readonly groupsLeftOut: number;
  /** By namespace and name. */
  readonly daemonSets: readonly CoverageRow[];
  /** All different answers: rows refer to them by index. */
  readonly answers: readonly CoverageAnswer[];
}

export interface NodeGroup {
  /** The roles of its nodes, and labels that DaemonSets select by. May be empty. */
  readonly label: string;
  readonly count: number;
  /** The first few, by name. */
  readonly examples: readonly string[];
  /** The taints that all of them carry, as kubectl writes them, and those of some with their number. */
  readonly taints: readonly string[];
}

export interface CoverageRow {
  readonly namespace: string;
  readonly name: string;
  /** Index into {@link CoverageMatrix.answers} for each group. */
  readonly cells: readonly number[];
  /** On how many nodes it should run, as taintkeeper computes it. */
  readonly runs: number;
  /** On how many nodes only permanent taints keep it off. */
  readonly keptOff: number;
  /** True if it opts out by annotation: then its gaps are intended. */
  readonly optsOut?: true;
  /**
   * True if it is kept off nodes where it is meant to run: it does not opt out, and either their other pods depend on it, or a policy requires
   * tolerations that it lacks. That a pool's own taint keeps another DaemonSet off is mostly intended.
   */
  readonly gap?: true;
  /** From its status: how many pods the DaemonSet controller requires, and how many of them are not available. */
  readonly desired: number;
  readonly unavailable: number;
}

export interface CoverageAnswer {
  /**
   * `tainted`: only taints keep it off. `stays`: as `tainted`, and a pod that runs there stays. `elsewhere`: its selector, affinity or nodeName
   * is for other nodes, which counts as intended.
   */
  readonly kind: 'runs' | 'tainted' | 'stays' | 'elsewhere';
  /** True if Kubernetes, autoscalers or operators remove those taints. */
  readonly passing?: true;
  /** For `runs`: true if taints that only a user removes evict each pod again. */
  readonly evicted?: true;
  /** What keeps pods off, or what evicts each of them again. */
  readonly reasons: readonly string[];
  /** For `tainted` and `stays`: the keys of the permanent taints that keep it off. */
  readonly keys?: readonly string[];
}

/**
 * One admission request that was denied, patched or reported. Requests that were allowed without a finding are not shown.
 *
 * `GET /api/events` is a stream of Server-Sent Events: `event: decision` with one of these, first those of the latest 200 that are
 * still known, then each as it is made; and `event: state` (data: the new ETag) at most once a second when `/api/state` has changed,
 * and once at the beginning. After a reconnection, and from several replicas, decisions may come again and in any order: `id`
 * tells them apart, `time` orders them. One stream for both, because browsers open six connections to one origin at most.
 */
export interface PageDecision {
  readonly id: string;
  readonly time: string;
  /** Of the AdmissionReview. */
  readonly uid: string;
  readonly replica: string;
  readonly phase: 'mutate' | 'validate';
  readonly operation: string;
  readonly kind: 'Node' | 'DaemonSet';
  /** Absent for nodes. */
  readonly namespace?: string;
  /** Empty if the API server has not generated it yet. */
  readonly name: string;
  readonly user: string;
  /** The address that the review came from. A pod can forge all of a review, but not this. */
  readonly origin: string;
  readonly result: 'allowed' | 'patched' | 'denied';
  /** Why it was denied. */
  readonly message?: string;
  readonly warnings: readonly string[];
  /** At most 16 of them. */
  readonly violations: readonly PageViolation[];
  readonly violationsLeftOut: number;
  /** What the patch changed, an entry for each place. */
  readonly changes: readonly DecidedChange[];
  /** True when the patch was too large to be kept. */
  readonly changesLeftOut: boolean;
  /** How many decisions on the same user's requests since the last listed one are only in the log. */
  readonly unlisted: number;
}

/** A violation. `outcome` is the result in words, such as `would deny`. */
export type PageViolation = Violation & { readonly outcome: string };

/** One value that a patch changes. `before` is the value in the request. Absent: there was, or is, no value. */
export interface DecidedChange {
  /** JSON pointer (RFC 6901). */
  readonly path: string;
  readonly before?: unknown;
  readonly after?: unknown;
}
