import { hostname } from 'node:os';
import type { Logger } from 'pino';
import { keepCertificates } from '../certs/certificate-keeper.ts';
import { readBuiltinPolicies } from '../files/builtin-policies.ts';
import { readPolicyFiles } from '../files/policy-files.ts';
import { openPolicyStore, type PolicyLoad } from '../files/policy-store.ts';
import { listFiles } from '../files/text-files.ts';
import { fingerprint, watchFiles } from '../files/watch-files.ts';
import { createDecisionLog } from '../page/decision-log.ts';
import { openPage } from '../page/page-routes.ts';
import { filedPolicyStates } from '../page/policy-states.ts';
import { certificateState } from '../page/replica-states.ts';
import { certificateCheck } from './certificate-check.ts';
import { certificateLog } from './certificate-log.ts';
import type { Metrics } from './metrics.ts';
import { logPolicyLoad } from './policy-log.ts';
import { filedPoliciesCheck, stoppingCheck } from './readiness.ts';
import { openServedTls } from './served-tls.ts';
import { type Listeners, type RunningApp, startAdmin, startAdmission } from './servers.ts';

export interface FilesAppOptions extends Listeners {
  /** Files and directories with policies, or undefined for the built-in ones. */
  readonly policyPaths: readonly string[] | undefined;
  /** Every policy counts as mode Audit. */
  readonly audit: boolean;
  readonly certDirectory: string;
  /** DNS names and IP addresses that the serving certificate is issued for. */
  readonly names: readonly string[];
  /** A file with the CAs of the clients that may call the webhook; undefined: every client may. */
  readonly clientCa: string | undefined;
  /** Whether the plain listener serves the page. */
  readonly page: boolean;
  readonly metrics: Metrics;
  readonly log: Logger;
  /** See {@link startAdmission}. */
  readonly stopGraceMs?: number;
  /** How often policy and certificate files are checked; see {@link watchFiles}. */
  readonly pollIntervalMs?: number | undefined;
}

/**
 * Starts taintkeeper with policies and certificates from files: everything is wired here.
 * @throws InputError for policies that cannot be read and addresses that cannot be listened on; CertificateDirectoryError
 */
export async function startFilesApp(options: FilesAppOptions): Promise<RunningApp> {
  const { policyPaths, metrics, log, stopGraceMs, pollIntervalMs } = options;

  await using starting = new AsyncDisposableStack();

  const listPolicies = async () => (policyPaths ? listFiles(policyPaths) : []);
  const before = await fingerprint(listPolicies);
  const store = await openPolicyStore(
    policyPaths ? () => readPolicyFiles(policyPaths) : readBuiltinPolicies,
    options.audit,
  );
  const logLoad = (load: PolicyLoad) => logPolicyLoad(load, options.audit, metrics, log);
  logLoad(store.lastLoad());
  const policyWatch = await watchFiles(listPolicies, async () => logLoad(await store.reload()), pollIntervalMs, before);
  starting.defer(() => policyWatch.stop());

  const { certDirectory: directory, names, clientCa } = options;
  const served = await openServedTls({
    open: async (onServe) => ({
      keeper: await keepCertificates({ directory, names, pollIntervalMs, onServe, ...certificateLog(log, directory) }),
    }),
    clientCa,
    pollIntervalMs,
    metrics,
    log,
  });
  starting.defer(served.stop);
  const { keeper: certificates, tls } = served;

  // Starts after the server for admissions and ends after it, so that it never reports ready without that server.
  const probes = starting.use(new AsyncDisposableStack());
  const decisions = options.page ? createDecisionLog({ replica: hostname() }) : undefined;
  const admission = await startAdmission({
    listeners: options,
    tls,
    policies: store.policies,
    ...(decisions ? { onJudged: decisions.record } : {}),
    metrics,
    log,
    stopGraceMs,
  });
  starting.defer(admission.stop);

  let stopping = false;
  const checks = () => [
    filedPoliciesCheck(store, options.audit),
    certificateCheck(certificates),
    stoppingCheck(stopping),
  ];
  const page = decisions
    ? await openPage(decisions, {
        now: () => new Date(),
        replica: hostname(),
        mode: 'standalone',
        audit: options.audit,
        leader: () => ({ isThis: true }),
        checks,
        certificate: () => certificateState(certificates, new Date()),
        webhooks: () => [],
        policies: () => filedPolicyStates(store.inForce(), options.audit),
        cluster: () => undefined,
      })
    : undefined;
  const admin = await startAdmin({ listeners: options, checks, metrics, page, log });
  probes.defer(admin.stop);

  const running = starting.move();
  return {
    url: admission.url,
    adminUrl: admin.url,
    stop() {
      stopping = true;
      return running.disposeAsync();
    },
  };
}
