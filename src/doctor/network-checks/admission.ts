import { isOurs } from '../admission-facts.ts';
import type { CheckResult } from '../check.ts';
import { FAULT_MEANINGS } from '../connection-fault.ts';
import type { Facts } from '../facts.ts';
import { causeAmong } from './causes.ts';

const AREA = { area: 'network', name: 'admission' } as const;

const SHOW_A_CERTIFICATE =
  'the API server shows no client certificate, or one of another CA or name: configure it as docs/security.md (Client certificates) says, or leave out --client-ca (clientCertificate in the chart)';
const UNREACHABLE =
  "the replicas are well and the API server does not reach them over the Service: is kube-proxy (or what stands in for it) running on the control plane, and may the control plane connect to the pods' network? If not: manifests/chart/presets/host-network.yaml";

/** Whether a real request to the API server, as a dry run, comes back with what the webhook has to say of it. */
export function checkAdmission({ admission, webhooks, site }: Facts, earlier: readonly CheckResult[]): CheckResult {
  const none = webhooks.ok && webhooks.value.length === 0;
  if (none) return { ...AREA, state: 'skipped', evidence: 'no webhook is registered, so none is called' };
  if (!admission.ok) return { ...AREA, state: 'skipped', evidence: admission.why };
  const trial = admission.value;
  switch (trial.outcome) {
    case 'answered':
      return { ...AREA, state: 'ok', evidence: `${trial.what} (a dry run) is answered by taintkeeper` };
    case 'nothing to try':
      return {
        ...AREA,
        state: 'skipped',
        evidence:
          'no node has a taint that a policy protects, and no DaemonSet policy names a namespace: there is nothing to try',
      };
    case 'passed': {
      const cause = causeAmong(earlier);
      if (cause !== undefined)
        return { ...AREA, state: 'skipped', evidence: `${trial.what} (a dry run) passed: ${cause}` };
      return {
        ...AREA,
        state: 'note',
        evidence: `${trial.what} (a dry run) passed, and taintkeeper said nothing: it is not asked, or was not reached and is to be ignored (failurePolicy)`,
        remedy: `see the configuration checks, and the leader's log: kubectl logs --namespace ${site.namespace} deployment/${site.service}`,
      };
    }
    case 'failed': {
      const told = `${trial.what} (a dry run) fails at ${trial.webhook}: ${FAULT_MEANINGS[trial.fault.kind]} (${trial.fault.message})`;
      if (!isOurs(trial.webhook))
        return { ...AREA, state: 'skipped', evidence: `${told}; that one is not taintkeeper's` };
      const cause = causeAmong(earlier);
      if (cause !== undefined) return { ...AREA, state: 'skipped', evidence: `${told}: ${cause}` };
      return {
        ...AREA,
        area: trial.fault.kind === 'certificate' ? 'certificate' : 'network',
        state: 'trouble',
        evidence: told,
        remedy: trial.fault.kind === 'stranger' ? SHOW_A_CERTIFICATE : UNREACHABLE,
      };
    }
  }
}
