import { closeSync, openSync, readSync } from 'node:fs';
import type { AuditEvent } from '../test/control-plane/audit-log.ts';
import type { User } from '../test/control-plane/users.ts';

/** What one user asked of the API server, read from the audit log as it grows. */
export interface AuditedRequests {
  /** Reads on, and returns all requests that were received at or after `since`, milliseconds since the epoch. */
  since(since: number): readonly AuditEvent[];
}

const CHUNK_BYTES = 1 << 20;

/** @param file audit log, one event to a line (see scale-audit-policy.yaml) */
export function auditedRequests(file: string, user: User): AuditedRequests {
  const events: { at: number; event: AuditEvent }[] = [];
  const buffer = Buffer.alloc(CHUNK_BYTES);
  let position = 0;
  let rest = Buffer.alloc(0);

  function take(line: string): void {
    const event = JSON.parse(line) as AuditEvent;
    if (event.user.username === user.name) events.push({ at: Date.parse(event.requestReceivedTimestamp), event });
  }

  function readOn(): void {
    const descriptor = openSync(file, 'r');
    try {
      for (;;) {
        const length = readSync(descriptor, buffer, 0, CHUNK_BYTES, position);
        if (length === 0) return;
        position += length;
        rest = Buffer.concat([rest, buffer.subarray(0, length)]);
        // The API server may be in the middle of the last line.
        const end = rest.lastIndexOf('\n') + 1;
        for (const line of rest.toString('utf8', 0, end).split('\n')) if (line !== '') take(line);
        rest = rest.subarray(end);
      }
    } finally {
      closeSync(descriptor);
    }
  }

  return {
    since(since) {
      readOn();
      return events.filter(({ at }) => at >= since).map(({ event }) => event);
    },
  };
}

/** What is listed by name; the rest is the same however many nodes there are. */
const NAMED: readonly string[] = ['nodes', 'daemonsets', 'pods', 'events', 'leases'];

/** Such as `5000 patch nodes, 3 list nodes, 12 others`, the most frequent first; failed ones with their status. */
export function summaryOf(requests: readonly AuditEvent[]): string {
  const counts = new Map<string, number>();
  for (const { verb, objectRef, responseStatus: { code = 200 } = {} } of requests) {
    const resource = [objectRef?.resource, objectRef?.subresource].filter(Boolean).join('/');
    const failure = code < 300 ? '' : ` (${code})`;
    const what = NAMED.includes(objectRef?.resource ?? '') ? `${verb} ${resource}${failure}` : `others${failure}`;
    counts.set(what, (counts.get(what) ?? 0) + 1);
  }
  const sorted = [...counts].toSorted(([, a], [, b]) => b - a);
  return sorted.map(([what, count]) => `${count} ${what}`).join(', ') || 'none';
}
