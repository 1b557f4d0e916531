import { CONFIGURATION_NAME } from '../../cluster/admission-registration/webhook-configurations.ts';
import { shellWord } from '../../text/printable.ts';
import { type Finding, finding, needs } from '../check.ts';
import type { Facts } from '../facts/facts.ts';
import type { Installation } from '../facts/installation.ts';
import type { RegisteredConfiguration, RegisteredWebhook, WebhookRule } from '../facts/registered-webhooks.ts';

/** The objects that policies select, and that taintkeeper writes. */
const NODES = { group: '', resource: 'nodes', subresource: '', scope: 'Cluster' } as const;
const DAEMON_SETS = { group: 'apps', resource: 'daemonsets', subresource: '', scope: 'Namespaced' } as const;
/** Kubelets update it. taintkeeper does not, but a node that cannot report that it is Ready loses its pods. */
const NODE_STATUS = { group: '', resource: 'nodes', subresource: 'status', scope: 'Cluster' } as const;
type Target = typeof NODES | typeof DAEMON_SETS | typeof NODE_STATUS;

const OPERATIONS = ['CREATE', 'UPDATE'] as const;
type Operation = (typeof OPERATIONS)[number];

/** Policy engines that overwrite changes of their webhook configuration, and the setting to change instead. */
const ENGINES = [
  {
    sign: /kyverno/i,
    name: 'Kyverno',
    setting:
      'set failurePolicy: Ignore in the policies that match Node, or leave Node out by webhooks in the ConfigMap kyverno',
  },
  {
    sign: /gatekeeper/i,
    name: 'Gatekeeper',
    setting:
      'set validatingWebhookFailurePolicy: Ignore in its chart, or leave nodes out by validatingWebhookCustomRules',
  },
] as const;

/** The names of webhooks that AKS and GKE install. The provider repairs them, and writes changed configurations back. */
const OF_PROVIDER = /\.(azmk8s|gke)\.io$/;

/** The effect of a webhook that fails closed and does not answer, by the operation that it is called for. */
const IMPACT: Readonly<Record<Operation, string>> = { CREATE: 'no node registers', UPDATE: 'no taint is restored' };
const STATUS_IMPACT = 'kubelets cannot report that nodes are Ready';

/**
 * Finds webhooks of other programs that are called for nodes or DaemonSets. While one that fails closed for every update of a node is unavailable,
 * it blocks the node controllers and taintkeeper's repairs. One for every creation blocks new nodes.
 */
export function checkOtherWebhooks({
  configurations,
  installation,
}: Pick<Facts, 'configurations' | 'installation'>): readonly Finding[] {
  return needs({ configurations }, (known) => {
    const results = known.configurations.flatMap((configuration) =>
      configuration.webhooks.flatMap((webhook, index) =>
        callsUs(configuration, webhook, installation) ? [] : checkWebhook(configuration, webhook, index),
      ),
    );
    return results.length > 0 ? results : [finding('ok', 'no other webhook is called for nodes or DaemonSets')];
  });
}

function checkWebhook(configuration: RegisteredConfiguration, webhook: RegisteredWebhook, index: number): Finding[] {
  const nodes = operationsOn(webhook, NODES);
  const isCalledForStatus = operationsOn(webhook, NODE_STATUS).includes('UPDATE');
  const daemonSets = operationsOn(webhook, DAEMON_SETS);
  const impact = [...nodes.map((operation) => IMPACT[operation]), ...(isCalledForStatus ? [STATUS_IMPACT] : [])];
  if (impact.length + daemonSets.length === 0) return [];
  const on = [
    ...(nodes.length > 0 ? [`nodes (${nodes.join(', ')})`] : []),
    ...(isCalledForStatus ? ['nodes/status (UPDATE)'] : []),
    ...(daemonSets.length > 0 ? [`daemonsets (${daemonSets.join(', ')})`] : []),
  ].join(' and ');
  const failsClosed = webhook.failurePolicy !== 'Ignore';
  const limits = limitsOf(webhook);
  const evidence = [
    `${configuration.resource.replace(/s$/, '')} ${configuration.name}, webhook ${webhook.name}: is called for ${on}`,
    `failurePolicy ${webhook.failurePolicy ?? 'Fail'}, ${webhook.timeoutSeconds ?? 10} s, ${destination(webhook)}`,
    ...(limits.length > 0 ? [`narrowed by ${limits.join(' and ')}`] : []),
  ].join('; ');
  if (OF_PROVIDER.test(webhook.name)) return [finding('note', `${evidence}; the provider of the cluster manages it`)];
  if (!failsClosed || impact.length === 0 || limits.length > 0) return [finding('note', evidence)];
  return [
    finding(
      'problem',
      `${evidence}. While it does not answer, ${impact.join(', and ')}`,
      remedy(configuration, webhook, index),
    ),
  ];
}

function remedy({ resource, name }: RegisteredConfiguration, webhook: RegisteredWebhook, index: number): string {
  const patch = JSON.stringify([
    { op: 'test', path: `/webhooks/${index}/name`, value: webhook.name },
    { op: 'replace', path: `/webhooks/${index}/failurePolicy`, value: 'Ignore' },
  ]);
  const command = `kubectl patch ${resource.replace(/s$/, '')} ${shellWord(name)} --type=json -p ${shellWord(patch)}`;
  const engine = ENGINES.find(({ sign }) => sign.test(`${name} ${webhook.name}`));
  return engine
    ? `for a lasting change (${engine.name} overwrites its webhook configuration): ${engine.setting}; until then: ${command}`
    : command;
}

function callsUs(
  { name }: RegisteredConfiguration,
  { clientConfig }: RegisteredWebhook,
  { namespace, service }: Installation,
) {
  const called = clientConfig?.service;
  return name === CONFIGURATION_NAME || (called?.namespace === namespace && called.name === service);
}

/** The operations on the resource for which the webhook is called. */
function operationsOn({ rules }: RegisteredWebhook, target: Target): Operation[] {
  const operations = (rules ?? [])
    .filter((rule) => matchesRule(rule, target))
    .flatMap(({ operations = [] }) => operations);
  return OPERATIONS.filter((operation) => operations.includes(operation) || operations.includes('*'));
}

/** Follows rules.Matcher of k8s.io/apiserver (pkg/admission/plugin/webhook/predicates/rules). */
function matchesRule(
  { apiGroups = [], apiVersions = [], resources = [], scope = '*' }: WebhookRule,
  target: Target,
): boolean {
  const has = (list: readonly string[], value: string) => list.includes('*') || list.includes(value);
  return (
    has(apiGroups, target.group) &&
    has(apiVersions, 'v1') &&
    (scope === '*' || scope === target.scope) &&
    resources.some((pattern) => {
      const [resource, subresource = ''] = pattern.split('/');
      return ['*', target.resource].includes(resource ?? '') && ['*', target.subresource].includes(subresource);
    })
  );
}

/** What restricts its calls to some objects. A namespaceSelector does not count: nodes have no namespace. */
function limitsOf({ matchConditions, objectSelector }: RegisteredWebhook): string[] {
  return [
    ...((matchConditions ?? []).length > 0 ? ['matchConditions'] : []),
    ...(Object.keys(objectSelector ?? {}).length > 0 ? ['objectSelector'] : []),
  ];
}

function destination({ clientConfig }: RegisteredWebhook): string {
  const { service, url } = clientConfig ?? {};
  return service ? `Service ${service.namespace}/${service.name}` : `at ${url ?? 'no address'}`;
}
