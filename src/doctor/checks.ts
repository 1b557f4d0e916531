import { CERTIFICATE_CHECKS, type Check, LEADER_NEEDS } from './check.ts';
import { checkFailedCalls, checkVersions } from './checks/api-server.ts';
import { checkAdmission, checkNetworkPolicies, checkRoundTrip } from './checks/calls.ts';
import { checkContradictions } from './checks/contradictions.ts';
import { checkControlPlane } from './checks/control-plane.ts';
import { checkLeader, checkPermissions, checkRegistration, checkRights } from './checks/leader.ts';
import { checkNodeMetadata } from './checks/node-metadata.ts';
import { checkNodePools } from './checks/node-pools.ts';
import { checkOtherWebhooks } from './checks/other-webhooks.ts';
import { checkPolicies } from './checks/policies.ts';
import { checkReplicas } from './checks/replicas.ts';
import { checkSecret } from './checks/secret.ts';
import { checkIgnoredDaemonSets, checkSelectors } from './checks/selectors.ts';
import { checkEndpoints, checkInstallation, checkService } from './checks/service.ts';
import { checkClocks, checkNames, checkServing } from './checks/serving.ts';
import { checkAgreement, checkTrust } from './checks/trust.ts';
import type { Facts } from './facts.ts';

const TRUST = { area: 'certificate' } as const;
const NETWORK = { area: 'network' } as const;
const CONFIGURATION = { area: 'configuration' } as const;

/** Runs alone if there is no installation. */
export const IS_INSTALLED: Check<Pick<Facts, 'search'>> = {
  name: 'installation',
  area: 'installation',
  dependsOn: [],
  run: checkInstallation,
};

/** All checks, in the order in which they are printed. Only one of them reports each cause. */
export const CHECKS: readonly Check[] = [
  IS_INSTALLED,

  { ...TRUST, name: 'Secret', dependsOn: [], run: checkSecret },
  { ...TRUST, name: 'serving certificate', dependsOn: ['Secret', 'clocks'], run: checkServing },
  { ...TRUST, name: 'certificate names', dependsOn: [], run: checkNames },
  { ...TRUST, name: 'agreement of replicas', dependsOn: ['serving certificate'], run: checkAgreement },
  { ...TRUST, name: 'caBundle', dependsOn: ['Secret', 'agreement of replicas', 'clocks'], run: checkTrust },
  { ...TRUST, name: 'clocks', dependsOn: [], run: checkClocks },

  { ...NETWORK, name: 'Service', dependsOn: [], run: checkService },
  { ...NETWORK, name: 'replicas', dependsOn: ['Service', ...CERTIFICATE_CHECKS], run: checkReplicas },
  { ...NETWORK, name: 'endpoints', dependsOn: ['Service', 'replicas'], run: checkEndpoints },
  // Without certificates that can be served, a replica does not even listen.
  { ...NETWORK, name: 'round trip', dependsOn: ['Secret', 'replicas'], run: checkRoundTrip },
  { ...NETWORK, name: 'NetworkPolicies', dependsOn: [], run: checkNetworkPolicies },
  {
    ...NETWORK,
    name: 'admission',
    dependsOn: [...CERTIFICATE_CHECKS, 'Service', 'replicas', 'endpoints', 'round trip'],
    run: checkAdmission,
  },

  {
    ...CONFIGURATION,
    name: 'policies',
    dependsOn: [...LEADER_NEEDS, 'leader', 'other webhooks', 'optional rights'],
    run: checkPolicies,
  },
  { ...CONFIGURATION, name: 'selectors', dependsOn: [], run: checkSelectors },
  { ...CONFIGURATION, name: 'contradictions', dependsOn: [], run: checkContradictions },
  { ...CONFIGURATION, name: 'node pools', dependsOn: [], run: checkNodePools },
  { ...CONFIGURATION, name: 'other webhooks', dependsOn: [], run: checkOtherWebhooks },
  { ...CONFIGURATION, name: 'rights', dependsOn: [], run: checkRights },
  // A right that only some policies need is not needed for leader election.
  { ...CONFIGURATION, name: 'optional rights', printed: 'rights', dependsOn: [], run: checkPermissions },
  { ...CONFIGURATION, name: 'leader', dependsOn: LEADER_NEEDS, run: checkLeader },
  { ...CONFIGURATION, name: 'failed calls', dependsOn: [], run: checkFailedCalls },
  { ...CONFIGURATION, name: 'versions', dependsOn: [], run: checkVersions },
  { ...CONFIGURATION, name: 'control plane', dependsOn: [], run: checkControlPlane },
  { ...CONFIGURATION, name: 'node metadata', dependsOn: [], run: checkNodeMetadata },
  { ...CONFIGURATION, name: 'ignored DaemonSets', dependsOn: [], run: checkIgnoredDaemonSets },
  {
    ...CONFIGURATION,
    name: 'registration',
    dependsOn: [
      ...LEADER_NEEDS,
      'policies',
      'selectors',
      'contradictions',
      'other webhooks',
      'optional rights',
      'leader',
      'versions',
    ],
    run: checkRegistration,
  },
];
