import { shellWord } from '../../text/printable.ts';

// Commands for users about the taints that nodes lack.

/** Sets taints on nodes. @param overwrites whether they carry other values of them */
export function taintCommand(nodes: readonly string[], taints: readonly string[], overwrites: boolean): string {
  return `kubectl taint ${overwrites ? '--overwrite ' : ''}node ${[...nodes, ...taints].map(shellWord).join(' ')}`;
}

/** What setting a NoExecute taint does, for the user who copies a command. */
export const EVICTS = 'evicts the pods there that do not tolerate it';

/** Lists which client removes a taint repeatedly. */
export const CONFLICT_EVENTS = 'kubectl get events --all-namespaces --field-selector reason=TaintConflict';
