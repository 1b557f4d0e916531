import { isOurs } from '../../cluster/installation/own-names.ts';
import { groupsBy } from '../../collections/groups-by.ts';
import { consequence, type Finding, finding } from '../check.ts';
import { FAULT_MEANINGS } from '../facts/dial.ts';
import type { Facts } from '../facts/facts.ts';
import type { Reading } from '../facts/reading.ts';
import type { Admission } from '../facts/send-trial.ts';
import { leaderLog } from '../leader-log.ts';

const SHOW_A_CERTIFICATE =
  'the API server shows no client certificate, or one of another CA or name: configure one with --admission-control-config-file of the API servers, or leave out --client-ca (clientCertificate in the chart)';
const UNREACHABLE =
  "the replicas are healthy, and the API server does not reach them over the Service: check whether kube-proxy (or its replacement) runs on the control plane, and whether the control plane may connect to the pods' network. If not, use the chart's preset host-network.yaml";

/** The result of the trial through some API servers. */
interface ServerTrial {
  readonly servers: readonly string[];
  readonly admission: Reading<Admission>;
}

/**
 * Checks that a dry-run request to each API server comes back with the response of the webhook. An API server that another one differs from has a
 * configuration, or a way to the webhook, of its own.
 */
export function checkAdmission(facts: Facts): Finding[] {
  const { admission, webhooks, apiServers } = facts;
  const isNative = admission.ok && admission.value.outcome === 'answered natively';
  const isUnregistered = webhooks.ok && webhooks.value.length === 0 && !isNative;
  if (isUnregistered) return [finding('skipped', 'no webhook is registered, so none is called')];
  if (!admission.ok && !apiServers.ok) return [finding('skipped', admission.why)];
  const trials = serverTrials(facts);
  const others = trials.flatMap(({ servers, admission }) =>
    admission.ok && admission.value.outcome === 'answered' ? servers : [],
  );
  return [
    ...groupsBy(trials, ({ admission }) => JSON.stringify(admission)).map((alike) =>
      judgeTrial({ ...alike[0], servers: alike.flatMap(({ servers }) => servers) }, others, facts),
    ),
    ...unreachedServers(facts),
  ];
}

/** Each API server at its own address. The one behind the URL of the user is one of them: it counts by itself unless all others were reached. */
function serverTrials({ admission, apiServers, apiServerUrl }: Facts): ServerTrial[] {
  const servers = apiServers.ok ? apiServers.value : [];
  if (servers.length === 0) return [{ servers: [], admission }];
  const trials = servers.flatMap(({ address, admission }) => (admission ? [{ servers: [address], admission }] : []));
  return trials.length === servers.length ? trials : [...trials, { servers: [apiServerUrl], admission }];
}

function unreachedServers({ apiServers }: Facts): Finding[] {
  if (!apiServers.ok) return [finding('skipped', `other API servers: ${apiServers.why}`)];
  const silent = apiServers.value.filter(({ admission }) => admission === undefined);
  const [first] = silent;
  if (!first) return [];
  const told = `${named(silent.map(({ address }) => address))} ${silent.length === 1 ? 'was' : 'were'} not called: this machine does not reach ${silent.length === 1 ? 'it' : 'them'} (${first.silence})`;
  const remedy = 'run doctor in a pod, or on a control-plane node: it then calls each API server at its address';
  return silent.length === apiServers.value.length
    ? [finding('skipped', `${told}; that is usual outside the cluster`, remedy)]
    : [finding('note', told, remedy)];
}

/** `API server 10.0.0.1:6443`, or several. A URL is named without that. */
function named(servers: readonly string[]): string {
  if (servers.every((server) => server.includes('://'))) return servers.join(', ');
  return `API server${servers.length === 1 ? '' : 's'} ${servers.join(', ')}`;
}

/** @param others the API servers that taintkeeper answers */
function judgeTrial({ servers, admission }: ServerTrial, others: readonly string[], facts: Facts): Finding {
  const through = servers.length === 0 ? '' : ` through ${named(servers)}`;
  if (!admission.ok) {
    return finding('skipped', servers.length === 0 ? admission.why : `${named(servers)}: ${admission.why}`);
  }
  const trial = admission.value;
  switch (trial.outcome) {
    case 'answered':
      return finding('ok', `${trial.what} (a dry run)${through} is answered by taintkeeper`);
    case 'answered natively': {
      const { what, policy } = trial;
      const told = `${what} (a dry run)${through} is ${
        policy === undefined
          ? 'answered by the API server itself (backstop: Native)'
          : `refused by the API server itself: ValidatingAdmissionPolicy ${policy}`
      }`;
      return facts.webhooks.ok && facts.webhooks.value.length === 0
        ? finding('ok', told)
        : finding('skipped', `${told}; that does not show whether it calls taintkeeper`);
    }
    case 'nothing to try':
      return finding(
        'skipped',
        'no node has a taint that a policy protects, and no DaemonSet policy names a namespace: there is nothing to try',
      );
    case 'passed': {
      const passed = `${trial.what} (a dry run) passed${through}`;
      const result = others.length > 0 ? ignoredFailure(passed, others) : noAnswer(passed, facts);
      return consequence(result, (cause) => `${passed}: see ${cause}`);
    }
    case 'failed': {
      const told = `${trial.what} (a dry run)${through} fails at ${trial.webhook}: ${FAULT_MEANINGS[trial.fault.kind]} (${trial.fault.message})`;
      if (!isOurs(trial.webhook)) return finding('skipped', `${told}; that one is not taintkeeper's`);
      const asStranger = others.length > 0 ? showAs(servers, others) : SHOW_A_CERTIFICATE;
      const result = finding('problem', told, trial.fault.kind === 'stranger' ? asStranger : UNREACHABLE);
      return consequence({ ...result, area: trial.fault.kind === 'certificate' ? 'certificate' : 'network' });
    }
  }
}

function noAnswer(passed: string, facts: Facts): Finding {
  return finding(
    'note',
    `${passed} without an answer from taintkeeper: the API server did not call it, or the call failed and failurePolicy let the request pass`,
    `see the configuration checks, and the leader's log: ${leaderLog(facts)}`,
  );
}

function ignoredFailure(passed: string, others: readonly string[]): Finding {
  return finding(
    'problem',
    `${passed} without an answer from taintkeeper, which answers ${others.join(', ')}: the calls fail, and failurePolicy lets the requests pass`,
    'its log has the reason: kubectl logs --namespace kube-system kube-apiserver-NODE. With --client-ca, it needs the client certificate of the others',
  );
}

/** The remedy for an API server that shows no client certificate, where others show one. */
function showAs(servers: readonly string[], others: readonly string[]): string {
  return `configure ${named(servers)} as ${others.join(', ')}: with --admission-control-config-file, and the client certificate that the file names`;
}
