import type { EvaluatedCoverage } from './coverage-matrix.ts';
import type { EvaluatedNodes } from './node-map.ts';
import type { PageState } from './state.ts';

/** What every replica knows: the state without nodes and DaemonSets. */
export type ReplicaView = Omit<PageState, 'at' | 'build' | 'nodes' | 'coverage' | 'problems'>;

/** What only the leader knows, evaluated. */
export interface LeaderView {
  readonly nodes: EvaluatedNodes;
  readonly coverage: EvaluatedCoverage;
  /** How many nodes are not Ready. */
  readonly unready: number;
}
