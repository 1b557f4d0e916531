import { Counter, Gauge, Histogram, type Registry } from '@prometheus-io/client';
import { PHASES, type Phase } from '../judge/decision.ts';
import type { Violation } from '../judge/violation.ts';
import type { PolicyKind } from '../policy/policy.ts';

/** The result of a request as a whole. */
export type RequestResult = 'allowed' | 'denied' | 'patched' | 'malformed' | 'error';

/** The metrics of admission: requests, policies and certificates. */
export interface AdmissionMetrics {
  requestStarted(): void;
  requestEnded(): void;
  handshakeFailed(): void;
  /** @param seconds since the request was complete; undefined if its body was not read */
  requestAnswered(phase: Phase, result: RequestResult, seconds?: number): void;
  dryRunAnswered(phase: Phase): void;
  /** @param count the number of violations of the same policy and outcome; 1 by default */
  violationFound(kind: 'Node' | 'DaemonSet', violation: Violation, count?: number): void;
  policiesLoaded(counts: Record<PolicyKind, number>): void;
  /** Only with policies from files. */
  policyFilesLoaded(areValid: boolean): void;
  /** @param notAfter undefined: no such certificate is known */
  certificateServed(certificate: 'ca' | 'serving', notAfter: Date | undefined): void;
}

/** Judging takes well under a millisecond; the API server gives up after 1-30 s. */
const DURATION_BUCKETS_SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5];

export function admissionMetrics(registers: Registry[]): AdmissionMetrics {
  const requests = new Counter({
    name: 'taintkeeper_admission_requests_total',
    help: 'Requests for admission answered, dry runs left out.',
    labelNames: ['path', 'result'],
    registers,
  });
  // An increase from 0 is seen, and not a series that begins with 1.
  for (const path of PHASES) for (const result of ['malformed', 'error']) requests.inc({ path, result }, 0);
  const dryRuns = new Counter({
    name: 'taintkeeper_admission_dry_runs_total',
    help: 'Admission reviews answered for dry runs. They count nowhere else.',
    labelNames: ['path'],
    registers,
  });
  const duration = new Histogram({
    name: 'taintkeeper_admission_duration_seconds',
    help: 'Time from the complete request to its answer, dry runs left out.',
    labelNames: ['path'],
    buckets: DURATION_BUCKETS_SECONDS,
    registers,
  });
  let inFlight = 0;
  new Gauge({
    name: 'taintkeeper_admission_in_flight',
    help: 'Requests being received, judged or answered.',
    registers,
    collect() {
      this.set(inFlight);
    },
  });
  const handshakeFailures = new Counter({
    name: 'taintkeeper_tls_handshake_failures_total',
    help: 'Connections that ended before a request: the client does not trust the CA, or does not use TLS.',
    registers,
  });
  const decisions = new Counter({
    name: 'taintkeeper_decisions_total',
    help: 'Violations of policies in admission requests, by what the request changes and the result. Dry runs do not count, nor requests to create an object that exists already.',
    labelNames: ['kind', 'policy', 'mode', 'change', 'result', 'audit'],
    registers,
  });
  const policies = new Gauge({
    name: 'taintkeeper_policies',
    help: 'Policies in force.',
    labelNames: ['kind'],
    registers,
  });
  const policyFilesValid = new Gauge({
    name: 'taintkeeper_policy_load_success',
    help: 'With policies from files: 1 if the files are in force as they are now. 0 if they are invalid: the last valid ones are in force.',
    registers,
  });
  // A metric without labels begins as 0, which would say that files are invalid.
  policyFilesValid.remove();
  const certificates = new Gauge({
    name: 'taintkeeper_certificate_expiry_timestamp_seconds',
    help: 'When the certificate expires.',
    labelNames: ['certificate'],
    registers,
  });

  return {
    requestStarted: () => void inFlight++,
    requestEnded: () => void inFlight--,
    handshakeFailed: () => handshakeFailures.inc(),
    requestAnswered(phase, result, seconds) {
      requests.inc({ path: phase, result });
      if (seconds !== undefined) duration.observe({ path: phase }, seconds);
    },
    dryRunAnswered: (phase) => dryRuns.inc({ path: phase }),
    violationFound: (kind, { policy, mode, change, result, audit }, count = 1) =>
      decisions.inc({ kind, policy, mode, change, result, audit: String(audit) }, count),
    policiesLoaded(counts) {
      for (const [kind, count] of Object.entries(counts)) policies.set({ kind }, count);
    },
    policyFilesLoaded: (areValid) => policyFilesValid.set(areValid ? 1 : 0),
    certificateServed(certificate, notAfter) {
      if (notAfter) certificates.set({ certificate }, notAfter.getTime() / 1000);
      else certificates.remove({ certificate });
    },
  };
}
