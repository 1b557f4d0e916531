import type { ConditionState } from './policy-status.ts';
import { atMost, count } from './text.ts';

/** Pods or zones that a message names. */
const MAX_NAMED = 3;

/** Why no node gets a taint that evicts pods for now, in all zones or in one. */
export type Hold =
  /** `names` is empty where there are too many to be looked at. */
  | { readonly reason: 'PodsWithoutNode'; readonly names: readonly string[] }
  | { readonly reason: 'ZoneNotReady'; readonly zone: string; readonly nodes: number; readonly notReady: number }
  | { readonly reason: 'RateIsZero' };

/** The condition `Evicting` of a policy: how many nodes wait, and for what. */
export interface Waiting {
  readonly nodes: number;
  /** Nodes a second in each zone. */
  readonly rate: number;
  readonly holds: readonly Hold[];
  /** Why pods cannot be looked at; undefined where they can. */
  readonly podsHidden: string | undefined;
}

export function evictionState({ nodes, rate, holds, podsHidden }: Waiting): ConditionState {
  const [first] = holds;
  const blind = podsHidden && `pods that find no node are not waited for: ${podsHidden}`;
  const parts = [`${count(nodes, 'node')} still to get a taint that evicts pods`, paceOf(rate), holdText(holds), blind];
  return { status: 'True', reason: first?.reason ?? 'Paced', message: parts.filter(Boolean).join('; ') };
}

/** What keeps nodes from getting the taint, in words; the empty text for nothing. */
export function holdText(holds: readonly Hold[]): string {
  return holds.length === 0 ? '' : `held up: ${atMost(MAX_NAMED, holds.map(textOf)).join(', ')}`;
}

/** `one node in 10 s in each zone at the most` */
export function paceOf(rate: number): string {
  if (rate === 0) return '';
  const pace = rate <= 1 ? `one node in ${rounded(1 / rate)} s` : `${rounded(rate)} nodes in 1 s`;
  return `${pace} in each zone at the most`;
}

function textOf(hold: Hold): string {
  switch (hold.reason) {
    case 'PodsWithoutNode': {
      const { names } = hold;
      if (names.length === 0) return 'too many pods have no node to run on';
      const have = names.length === 1 ? 'has' : 'have';
      const named = atMost(MAX_NAMED, names).join(', ');
      return `${count(names.length, 'pod')} that came since ${have} no node to run on (${named})`;
    }
    case 'ZoneNotReady':
      return `${hold.notReady} of ${hold.nodes} nodes ${hold.zone ? `in zone ${hold.zone} ` : ''}are not ready`;
    case 'RateIsZero':
      return 'the rate is 0 (serve --node-eviction-rate)';
  }
}

function rounded(value: number): string {
  return String(Math.round(value * 100) / 100);
}
