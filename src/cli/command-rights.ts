import { NATIVE_RESOURCES } from '../cluster/admission-registration/native-policies.ts';
import { CONFIGURATION_NAME, CONFIGURATIONS } from '../cluster/admission-registration/webhook-configurations.ts';
import { OWN_LEASE, OWN_SECRET } from '../cluster/installation/own-names.ts';
import { POLICY_RESOURCES } from '../cluster/policies/policy-paths.ts';
import { POLICY_API_GROUP } from '../policy/policy.ts';

/** A rule of RBAC. */
export interface RoleRule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly verbs: readonly string[];
}

export interface CommandRights {
  /** Rules of a ClusterRole. */
  readonly inCluster?: readonly RoleRule[];
  /** Rules of a Role in taintkeeper's namespace. */
  readonly inNamespace?: readonly RoleRule[];
}

/** Rules for resources of an API group. */
function rulesOf(apiGroup: string): (verbs: string, ...resources: string[]) => RoleRule {
  return (verbs, ...resources) => ({ apiGroups: [apiGroup], resources, verbs: verbs.split(', ') });
}

const core = rulesOf('');
const apps = rulesOf('apps');
const batch = rulesOf('batch');
const storage = rulesOf('storage.k8s.io');
const own = rulesOf(POLICY_API_GROUP);

const EVENTS: RoleRule = { apiGroups: ['events.k8s.io'], resources: ['events'], verbs: ['list'] };
const CERTIFICATES = { apiGroups: [''], resources: ['secrets'], resourceNames: [OWN_SECRET] };
const WEBHOOKS: RoleRule = {
  apiGroups: ['admissionregistration.k8s.io'],
  resources: Object.values(CONFIGURATIONS).map(({ resource }) => resource),
  resourceNames: [CONFIGURATION_NAME],
  verbs: ['get'],
};
const { TaintPolicy, TolerationPolicy, TolerationRestriction, RecoveryPolicy } = POLICY_RESOURCES;

/** The rights that each command needs in a cluster. docs/reference/cli-rights.md is generated from it. */
export const COMMAND_RIGHTS = {
  'explain node': {
    inCluster: [
      core('get', 'nodes'),
      core('list', 'pods'),
      apps('get, list', 'daemonsets'),
      storage('get', 'csinodes'),
      own('list', TaintPolicy),
      EVENTS,
    ],
  },
  'explain daemonset': {
    inCluster: [
      core('list', 'nodes', 'pods'),
      apps('get', 'daemonsets'),
      own('list', TaintPolicy, TolerationPolicy, RecoveryPolicy),
      EVENTS,
    ],
  },
  'explain pod': {
    inCluster: [
      core('list', 'nodes'),
      core('get', 'pods'),
      apps('get', 'daemonsets'),
      own('list', TaintPolicy, TolerationPolicy, RecoveryPolicy, TolerationRestriction),
      EVENTS,
    ],
  },
  coverage: {
    inCluster: [
      core('list', 'nodes', 'pods'),
      apps('list', 'daemonsets', 'deployments', 'statefulsets'),
      batch('list', 'cronjobs'),
      own('list', TaintPolicy, TolerationPolicy),
    ],
  },
  'coverage fix': {
    inCluster: [core('list', 'nodes'), apps('list', 'daemonsets'), own('list', TaintPolicy, TolerationPolicy)],
  },
  'coverage migrate': {
    inCluster: [
      core('list', 'nodes'),
      apps('list', 'daemonsets', 'deployments', 'statefulsets'),
      batch('list', 'cronjobs'),
      own('list', TaintPolicy, TolerationPolicy, TolerationRestriction),
    ],
  },
  'export --cluster': { inCluster: [own('list', ...Object.values(POLICY_RESOURCES))] },
  'certs status': { inCluster: [WEBHOOKS], inNamespace: [{ ...CERTIFICATES, verbs: ['get'] }] },
  'certs rotate': { inNamespace: [{ ...CERTIFICATES, verbs: ['get', 'patch'] }] },
  dashboard: {
    inNamespace: [
      { apiGroups: ['coordination.k8s.io'], resources: ['leases'], resourceNames: [OWN_LEASE], verbs: ['get'] },
      core('get', 'pods'),
      core('get, create', 'pods/portforward'),
    ],
  },
  cleanup: {
    inCluster: [
      core('get, list, patch', 'nodes'),
      apps('get, list, patch', 'daemonsets'),
      own('list', TaintPolicy),
      WEBHOOKS,
      { apiGroups: ['admissionregistration.k8s.io'], resources: Object.values(NATIVE_RESOURCES), verbs: ['list'] },
    ],
  },
  'talos drift': { inCluster: [core('list', 'nodes')] },
} as const satisfies Readonly<Record<string, CommandRights>>;

type CommandWithRights = keyof typeof COMMAND_RIGHTS;

/** The rights of a command as a sentence of its help. */
export function rightsText(command: CommandWithRights): string {
  const { inCluster = [], inNamespace = [] }: CommandRights = COMMAND_RIGHTS[command];
  const of = (rules: readonly RoleRule[]) =>
    rules.map((rule) => `${rule.verbs.join(', ')} ${rule.resources.join(', ')}`).join('; ');
  const parts = [
    ...(inCluster.length > 0 ? [of(inCluster)] : []),
    ...(inNamespace.length > 0 ? [`in taintkeeper's namespace: ${of(inNamespace)}`] : []),
  ];
  return `Permissions: ${parts.join('; ')}.`;
}
