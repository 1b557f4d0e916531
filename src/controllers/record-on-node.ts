import type { Logger } from 'pino';
import { nodeReference } from '../kubernetes/event.ts';
import type { RecordedEvent } from '../policy/reporting/recorded-event.ts';

/** Records something about a Node: an Event on it, and a line of the log. */
export type RecordOnNode = (
  node: { readonly name: string; readonly uid: string },
  event: Omit<RecordedEvent, 'regarding' | 'reviewed'>,
) => void;

export function recordOnNode(recordEvent: (event: RecordedEvent) => void, log: Logger): RecordOnNode {
  return (node, event) => {
    recordEvent({ regarding: nodeReference(node), ...event });
    log[event.type === 'Warning' ? 'warn' : 'info'](`Node ${node.name}: ${event.note}`);
  };
}
