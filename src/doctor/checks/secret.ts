import { parseCertificates } from '../../certs/bundle.ts';
import { invalidAt, PAIR_NOT_FOUND } from '../../certs/inspect.ts';
import {
  CA_LOOKAHEAD_MS,
  caFault,
  FUTURE_CAUSE,
  notValidYet,
  otherIssuerFault,
  servingFault,
} from '../../certs/stored-faults.ts';
import { isFromAnotherIssuer } from '../../certs/stored-files.ts';
import { type Finding, finding } from '../check.ts';
import { type Facts, trustedTime } from '../facts/facts.ts';
import type { PodView } from '../facts/pod-view.ts';
import { renewal } from '../renewal.ts';
import { restart } from '../restart.ts';
import { servedBy } from '../served.ts';

/** Checks that the Secret has a usable certificate. Other checks report problems of a certificate that is served already. */
export function checkSecret(facts: Facts): Finding[] {
  return [judgeSecret(facts), ...judgePending(facts)];
}

/** Reports why the pods that a rollout starts cannot serve. It is a note, because the earlier pods do. */
function judgePending({ pendingCertificates: pending, ...facts }: Facts): Finding[] {
  // What a replica issues itself is created when the replica starts.
  if (pending?.source.kind !== 'files') return [];
  const { state, evidence, remedy } = judgeSecret({
    ...facts,
    certificateSource: pending.source,
    secret: pending.secret,
    replicas: [],
    overService: [],
  });
  if (state !== 'problem') return [];
  return [finding('note', `the pods that the rollout starts need another Secret: ${evidence}`, remedy)];
}

function judgeSecret(facts: Omit<Facts, 'pendingCertificates'>): Finding {
  const { secret, service, pods, certificateSource, installation, serverName } = facts;
  const where = `Secret ${installation.namespace}/${certificateSource.secret}`;
  if (certificateSource.secret === undefined) {
    return finding('ok', 'not used: the replicas serve files (--cert-dir)');
  }
  if (!secret.ok) return finding('skipped', `${where}: ${secret.why}`);
  if (secret.value === undefined) {
    // Without a Service there is no replica that could create it.
    if (service.ok && service.value === undefined) return finding('skipped', `${where} not found: see Service`);
    if (certificateSource.kind === 'secret' && pods.ok && !pods.value.some(hasStarted)) {
      return finding('skipped', `${where} not found, because no replica has started: see replicas`);
    }
    return finding('problem', `${where} not found`, missing(facts));
  }
  const files = secret.value;
  const now = trustedTime(facts);
  const [leaf] = parseCertificates(files.cert);
  const isServed = servedBy(facts).some((one) => one.leaf.fingerprint256 === leaf?.fingerprint256);
  const isOtherIssuer = isFromAnotherIssuer(files);
  const names = [serverName];
  const fault = isOtherIssuer
    ? !isServed && otherIssuerFault(files, names, now)
    : (caFault(files, now) ?? (!isServed && servingFault(files, names, now, 0)));
  if (fault) {
    return finding('problem', `${where} cannot be served: ${said(fault)}`, renewal(facts));
  }
  // By both clocks. If only one of them says so, the check of the clocks reports it.
  const future = notValidYet(files.bundle, now) && notValidYet(files.bundle, facts.now);
  if (future !== undefined) {
    const evidence = `the CA of ${where} is ${future}: ${FUTURE_CAUSE}`;
    const remedy = `the leader replaces it after ten minutes. At once: taintkeeper certs rotate --ca --namespace ${installation.namespace}`;
    return finding('problem', evidence, isOtherIssuer ? renewal(facts) : remedy);
  }
  const [ca] = parseCertificates(files.bundle);
  if (ca && invalidAt(ca, new Date(now.getTime() + CA_LOOKAHEAD_MS)) !== undefined) {
    const evidence = `${where} is complete; its CA expires ${ca.validToDate.toISOString()}`;
    return finding('note', evidence, isOtherIssuer ? renewal(facts) : 'none: taintkeeper replaces it in time');
  }
  const expiry = ca ? `, CA until ${ca.validToDate.toISOString()}` : '';
  return finding('ok', `${where} is complete${expiry}`);
}

/** The faults are worded for the log line of a new certificate. */
function said(fault: string): string {
  return fault === PAIR_NOT_FOUND ? 'a part of it is missing' : fault;
}

/** Whether the pod's process may have created the Secret. */
function hasStarted({ cannotStart, ip }: PodView): boolean {
  return cannotStart === undefined && ip !== undefined;
}

function missing({
  installation,
  pods,
  certificateSource,
}: Pick<Facts, 'installation' | 'pods' | 'certificateSource'>): string {
  return certificateSource.kind === 'files'
    ? `have its issuer create it; the replicas cannot start without it`
    : `a replica creates it when it starts: ${restart({ installation, pods })}`;
}
