import { count as counted } from '../kubernetes/text.ts';
import type { Harm } from '../policy/harm.ts';
import type { EvaluatedCoverage } from './coverage-matrix.ts';
import type { EvaluatedNodes } from './node-map.ts';
import type { Fix, PageState, Place } from './state.ts';

/** If there are more causes of one kind than this, the last problem counts the rest. */
const MAX_CAUSES = 8;

/** A problem before it is ranked. */
export interface UnrankedProblem {
  readonly harm: Harm;
  /** How many objects it concerns. */
  readonly count?: number;
  readonly text: string;
  readonly place?: Place;
  /** All whom it concerns, by name. Those that are not known by name are empty. */
  readonly names?: readonly string[];
  /** Where one of the names is shown. */
  readonly nameAt?: (name: string) => Place | undefined;
  readonly why?: string | undefined;
  readonly fix?: Fix | undefined;
}

/** The problems of the first causes, and one problem for all further causes. */
export function problemsOfCauses<Cause>(
  causes: readonly Cause[],
  problemOf: (cause: Cause) => UnrankedProblem,
  furtherProblem: (further: readonly [Cause, ...Cause[]]) => UnrankedProblem,
): UnrankedProblem[] {
  const [next, ...others] = causes.slice(MAX_CAUSES);
  return [
    ...causes.slice(0, MAX_CAUSES).map(problemOf),
    ...(next === undefined ? [] : [furtherProblem([next, ...others])]),
  ];
}

/** What every replica knows: the state without nodes and DaemonSets. */
export type ReplicaView = Omit<PageState, 'at' | 'nodes' | 'coverage' | 'problems'>;

/** What only the leader knows, evaluated. */
export interface LeaderView {
  readonly nodes: EvaluatedNodes;
  readonly coverage: EvaluatedCoverage;
  /** How many nodes are not Ready. */
  readonly unready: number;
}

/** `5,000`. */
export const number = (value: number) => value.toLocaleString('en');
/** `1 node`, `5,000 nodes`. */
export const count = (value: number, one: string) => counted(value, one).replace(String(value), number(value));

/** Where the node is shown. */
export const nodeAt = (object: string): Place => ({ tab: 'nodes', object });
/** Where the DaemonSet is shown. @param object `NAMESPACE/NAME` */
export const daemonSetAt = (object: string): Place => ({ tab: 'coverage', object });

/** The command that finds problems of the installation. */
export const DOCTOR: Fix = { command: 'taintkeeper doctor', note: 'Says why, and the command that repairs it.' };
