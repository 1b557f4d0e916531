import { readFileSync } from 'node:fs';
import { waitUntil } from './wait-until.ts';

const AUDIT_TIMEOUT_MS = 5_000;

/** What the tests read of an event (audit.k8s.io/v1, kind Event). */
export interface AuditEvent {
  auditID: string;
  verb: string;
  /** When the API server got the request: RFC 3339, with microseconds. */
  requestReceivedTimestamp: string;
  user: { username: string; groups?: string[] };
  objectRef?: { resource: string; name?: string; namespace?: string; subresource?: string };
  responseStatus?: { code?: number; reason?: string; message?: string };
  requestObject?: unknown;
  responseObject?: unknown;
  /** Webhooks' audit annotations among them, under `<webhook name>/<key>`. */
  annotations?: Record<string, string>;
}

/** All events until now, oldest first. */
export function readAuditLog(file: string): AuditEvent[] {
  // The API server may be in the middle of the last line.
  const whole = readFileSync(file, 'utf8').split('\n').slice(0, -1);
  return whole.map((line) => JSON.parse(line) as AuditEvent);
}

/**
 * The event of one request. The API server writes it after it has answered, so it is waited for.
 *
 * @throws Error when it is not there within 5 s; the audit policy may leave such requests out
 */
export function findAuditEvent(file: string, auditId: string): Promise<AuditEvent> {
  return waitUntil(() => readAuditLog(file).find((event) => event.auditID === auditId), {
    timeoutMs: AUDIT_TIMEOUT_MS,
    otherwise: () => `the audit log has no event ${auditId}; does audit-policy.yaml leave such requests out?`,
  });
}
