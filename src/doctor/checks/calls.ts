import { isOurs } from '../../cluster/own-names.ts';
import { atMost, shellWord } from '../../kubernetes/text.ts';
import { consequence, type Finding, finding } from '../check.ts';
import { type ConnectionFault, FAULT_MEANINGS, type FaultKind, hostPort } from '../dial.ts';
import type { Facts } from '../facts.ts';
import { deploymentOf } from '../installation.ts';
import { ingressTo } from '../network-policy.ts';
import type { Reading } from '../reading.ts';
import type { ReplicaFacts } from '../replicas.ts';
import type { Admission } from '../trial.ts';
import { describeGroups } from './served.ts';

/** The outcome of one review, and its client. */
type Trip =
  | { readonly outcome: 'answered'; readonly who: 'the API server' | 'this machine' }
  | { readonly outcome: 'failed'; readonly who: 'the API server' | 'this machine'; readonly fault: ConnectionFault };

/** Checks that each replica answers a review over TLS: one of the API server if possible, else one of this machine. */
export function checkRoundTrip(facts: Facts): Finding {
  const { replicas } = facts;
  if (replicas.length === 0) return finding('skipped', 'no replica to call');
  // A pod that is not ready gets no calls. Other checks report it.
  const called = replicas.filter(({ pod, endpoint }) => pod?.isReady ?? endpoint?.isReady ?? false);
  if (called.length === 0) return finding('skipped', 'no replica is ready');
  const trips = called.map((replica) => ({ replica, trip: tripTo(replica) }));
  const failed = trips.flatMap(({ replica, trip }) => (trip.outcome === 'failed' ? [{ replica, ...trip }] : []));
  const [first] = failed;
  if (!first) {
    const askers = [...new Set(trips.map(({ trip }) => trip.who))].join(' and ');
    return finding(
      'ok',
      `${trips.length === 1 ? '1 replica answers' : `${trips.length} replicas answer`} a review from ${askers}`,
    );
  }
  const told = describeGroups(
    failed,
    ({ who, fault }) => `${who} ${fault.kind}`,
    (group) => {
      const called = group.map(({ replica }) => calledName(replica)).join(', ');
      return `${group[0].who} calls ${called}: ${FAULT_MEANINGS[group[0].fault.kind]} (${group[0].fault.message})`;
    },
  );
  // That this machine does not reach the pods says nothing about the API server.
  const isOurWay = failed.every(
    ({ who, fault }) => who === 'this machine' && ['silent', 'unreachable', 'foreign'].includes(fault.kind),
  );
  const isOut = facts.service.ok && facts.service.value?.spec?.type === 'ExternalName';
  const found =
    isOurWay && !isOut
      ? finding(
          'skipped',
          `${told}; that is usual outside the cluster, and the API server could not call the pods (pods/proxy)`,
        )
      : finding('problem', told, REMEDIES[first.fault.kind](first.replica, facts));
  return consequence(found, (cause) => `see ${cause}`);
}

function tripTo({ reached, dialled }: ReplicaFacts): Trip {
  if (reached.ok) return { ...reached.value, who: 'the API server' };
  if (dialled.outcome === 'failed') return { outcome: 'failed', who: 'this machine', fault: dialled.fault };
  const { refusal } = dialled.greeting;
  return refusal === undefined
    ? { outcome: 'answered', who: 'this machine' }
    : { outcome: 'failed', who: 'this machine', fault: { kind: 'other', message: refusal } };
}

/** The address that is called, and its pod, if that is known. */
function calledName({ podName, address, port }: ReplicaFacts): string {
  const called = hostPort(address, port);
  return podName === undefined ? called : `${podName} (${called})`;
}

const REMEDIES: Readonly<Record<FaultKind, (replica: ReplicaFacts, facts: Facts) => string>> = {
  refused: (replica, facts) =>
    withCommands('the process has ended, or listens elsewhere', ['logs --previous', 'delete pod'], replica, facts),
  closed: logRemedy,
  other: logRemedy,
  stranger: logRemedy,
  certificate: logRemedy,
  silent: wayRemedy,
  unreachable: wayRemedy,
  foreign: ({ address, port }) =>
    `find out what answers at ${hostPort(address, port)}, such as a transparent proxy, or run doctor where pods are reached directly`,
};

/** For faults that do not tell whether the process still runs. */
function logRemedy(replica: ReplicaFacts, facts: Facts): string {
  return withCommands('see what its log says about the call', ['logs'], replica, facts);
}

/** Adds the commands of kubectl for the pod, if the pod is known. */
function withCommands(
  words: string,
  commands: readonly string[],
  { podName }: ReplicaFacts,
  { installation: { namespace } }: Facts,
): string {
  if (podName === undefined) return words;
  return `${words}: ${commands.map((command) => `kubectl ${command} --namespace ${namespace} ${podName}`).join('; ')}`;
}

/** What may block the API server, by whether the replica answers this machine. */
function wayRemedy(replica: ReplicaFacts, facts: Facts): string {
  const { port, pod, dialled, way } = replica;
  const { networkPolicies, installation } = facts;
  const policies =
    pod && networkPolicies.ok
      ? ingressTo(pod.labels, { number: port, name: 'webhook' }, networkPolicies.value)
      : undefined;
  if (policies && policies.access !== 'open') {
    return `NetworkPolicy ${policies.policies.join(', ')} restricts connections to port ${port}: kubectl describe networkpolicy --namespace ${installation.namespace}`;
  }
  const log = withCommands('see its log', ['logs'], replica, facts);
  const hangs = `it does not answer this machine either: does the process hang (${log})`;
  const open = `open port ${port} from the control plane to the nodes (GKE, EKS: a firewall rule or security group), or run the replicas in the nodes' network, with the chart's preset host-network.yaml`;
  const cni = cniCommand(replica);
  if (cni !== undefined) {
    const otherwise = dialled.outcome === 'failed' ? hangs : open;
    return `is the CNI's network to node ${pod?.node} broken? See ${cni}, and its pod on the control-plane node. If the CNI works: ${otherwise}`;
  }
  return dialled.outcome === 'failed'
    ? `${hangs}, or does the CNI lose packets to its node?`
    : `it answers this machine (${way}), so the path from the API server is blocked: ${open}`;
}

/** The commands that show the log of the CNI on the node of a replica. Undefined if no pod of it is known there. */
function cniCommand({ cniPods }: ReplicaFacts): string | undefined {
  const pods = cniPods?.ok ? cniPods.value : [];
  if (pods.length === 0) return undefined;
  const commands = pods
    .toSorted((a, b) => Number(a.isReady) - Number(b.isReady))
    .map(
      ({ namespace, name, isReady }) =>
        `kubectl logs --namespace ${shellWord(namespace)} ${shellWord(name)} --all-containers${isReady ? '' : ' (not Ready)'}`,
    );
  return atMost(MAX_CNI_PODS, commands).join('; ');
}

/** Several plugins can share a node, such as Multus beside the CNI. */
const MAX_CNI_PODS = 3;

/** Reports what NetworkPolicies say about the webhook's port. It is never a problem, because not every CNI enforces them. */
export function checkNetworkPolicies({ networkPolicies, replicas }: Facts): Finding {
  if (!networkPolicies.ok) return finding('skipped', networkPolicies.why);
  const [replica] = replicas.filter(({ pod }) => pod !== undefined);
  if (!replica?.pod) return finding('skipped', 'no pod to check');
  const port = { number: replica.port, name: 'webhook' };
  const { access, policies } = ingressTo(replica.pod.labels, port, networkPolicies.value);
  const names = policies.join(', ');
  if (policies.length === 0) return finding('ok', 'none selects the pods');
  switch (access) {
    case 'open':
      return finding('ok', `${names}: all clients may connect to port ${replica.port}`);
    case 'limited':
      return finding('note', `${names}: port ${replica.port} is open for some only; the API server must be among them`);
    case 'closed':
      return finding(
        'note',
        `${names}: no client may connect to port ${replica.port}; it works only as long as the CNI does not enforce that`,
      );
  }
}

const SHOW_A_CERTIFICATE =
  'the API server shows no client certificate, or one of another CA or name: configure one with --admission-control-config-file of the API servers, or leave out --client-ca (clientCertificate in the chart)';
const UNREACHABLE =
  "the replicas are healthy and the API server does not reach them over the Service: is kube-proxy (or its replacement) running on the control plane, and may the control plane connect to the pods' network? If not, use the chart's preset host-network.yaml";

/** What came of the trial through some API servers. */
interface Asked {
  readonly servers: readonly string[];
  readonly admission: Reading<Admission>;
}

/**
 * Checks that a dry-run request to each API server comes back with the response of the webhook. An API server that another one differs from has a
 * configuration, or a way to the webhook, of its own.
 */
export function checkAdmission(facts: Facts): Finding[] {
  const { admission, webhooks, apiServers } = facts;
  const isNative = admission.ok && admission.value.outcome === 'refused natively';
  const none = webhooks.ok && webhooks.value.length === 0 && !isNative;
  if (none) return [finding('skipped', 'no webhook is registered, so none is called')];
  if (!admission.ok && !apiServers.ok) return [finding('skipped', admission.why)];
  const asked = askedServers(facts);
  const answering = asked.filter(({ admission }) => admission.ok && admission.value.outcome === 'answered');
  const alike = Map.groupBy(asked, ({ admission }) => JSON.stringify(admission));
  return [
    ...[...alike.values()].map((group) => {
      const [first] = group as [Asked, ...Asked[]];
      const others = answering.flatMap(({ servers }) => servers);
      return judgeTrial({ ...first, servers: group.flatMap(({ servers }) => servers) }, others, facts);
    }),
    ...notAsked(facts),
  ];
}

/** Each API server at its own address. The one behind the URL of the user is one of them: it counts by itself unless all others were asked. */
function askedServers({ admission, apiServers, apiServerUrl }: Facts): Asked[] {
  const all = apiServers.ok ? apiServers.value : [];
  if (all.length === 0) return [{ servers: [], admission }];
  const asked = all.flatMap(({ address, admission }) => (admission ? [{ servers: [address], admission }] : []));
  return asked.length === all.length ? asked : [...asked, { servers: [apiServerUrl], admission }];
}

function notAsked({ apiServers }: Facts): Finding[] {
  if (!apiServers.ok) return [finding('skipped', `other API servers: ${apiServers.why}`)];
  const silent = apiServers.value.filter(({ admission }) => admission === undefined);
  const [first] = silent;
  if (!first) return [];
  const told = `${named(silent.map(({ address }) => address))} ${silent.length === 1 ? 'was' : 'were'} not asked: this machine does not reach ${silent.length === 1 ? 'it' : 'them'} (${first.silence})`;
  const remedy = 'run doctor in a pod, or on a control-plane node: it then asks each API server at its address';
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
function judgeTrial({ servers, admission }: Asked, others: readonly string[], facts: Facts): Finding {
  const through = servers.length === 0 ? '' : ` through ${named(servers)}`;
  if (!admission.ok) {
    return finding('skipped', servers.length === 0 ? admission.why : `${named(servers)}: ${admission.why}`);
  }
  const trial = admission.value;
  switch (trial.outcome) {
    case 'answered':
      return finding('ok', `${trial.what} (a dry run)${through} is answered by taintkeeper`);
    case 'refused natively':
      return finding(
        'ok',
        `${trial.what} (a dry run)${through} is refused by the API server itself: ValidatingAdmissionPolicy ${trial.policy}`,
      );
    case 'nothing to try':
      return finding(
        'skipped',
        'no node has a taint that a policy protects, and no DaemonSet policy names a namespace: there is nothing to try',
      );
    case 'passed': {
      const passed = `${trial.what} (a dry run) passed${through}`;
      const found = others.length > 0 ? ignoredFailure(passed, others) : saidNothing(passed, facts);
      return consequence(found, (cause) => `${passed}: see ${cause}`);
    }
    case 'failed': {
      const told = `${trial.what} (a dry run)${through} fails at ${trial.webhook}: ${FAULT_MEANINGS[trial.fault.kind]} (${trial.fault.message})`;
      if (!isOurs(trial.webhook)) return finding('skipped', `${told}; that one is not taintkeeper's`);
      const asStranger = others.length > 0 ? showAs(servers, others) : SHOW_A_CERTIFICATE;
      const found = finding('problem', told, trial.fault.kind === 'stranger' ? asStranger : UNREACHABLE);
      return consequence({ ...found, area: trial.fault.kind === 'certificate' ? 'certificate' : 'network' });
    }
  }
}

function saidNothing(passed: string, { installation }: Facts): Finding {
  return finding(
    'note',
    `${passed}, and taintkeeper said nothing: it is not asked, or was not reached and is to be ignored (failurePolicy)`,
    `see the configuration checks, and the leader's log: kubectl logs --namespace ${installation.namespace} ${deploymentOf(installation)}`,
  );
}

function ignoredFailure(passed: string, others: readonly string[]): Finding {
  return finding(
    'problem',
    `${passed}, and taintkeeper, which answers ${others.join(', ')}, said nothing: its calls fail and are ignored (failurePolicy)`,
    'its log has the reason: kubectl logs --namespace kube-system kube-apiserver-NODE. With --client-ca, it needs the client certificate of the others',
  );
}

/** The remedy for an API server that shows no client certificate, where others show one. */
function showAs(servers: readonly string[], others: readonly string[]): string {
  return `configure ${named(servers)} as ${others.join(', ')}: with --admission-control-config-file, and the client certificate that the file names`;
}
