import { CERTIFICATE_CHECKS, type Check, ELECTION_NEEDS, LEADER_NEEDS } from './check.ts';
import { checkAdmission } from './checks/admission.ts';
import { checkAgreement } from './checks/agreement-of-replicas.ts';
import { checkCaBundle } from './checks/ca-bundle.ts';
import { checkNames } from './checks/certificate-names.ts';
import { checkClocks } from './checks/clocks.ts';
import { checkContradictions } from './checks/contradictions.ts';
import { checkControlPlane } from './checks/control-plane.ts';
import { checkEndpoints } from './checks/endpoints.ts';
import { checkFailedCalls } from './checks/failed-calls.ts';
import { checkIgnoredDaemonSets } from './checks/ignored-daemon-sets.ts';
import { checkInstallation } from './checks/installation.ts';
import { checkLeader } from './checks/leader.ts';
import { checkNetworkPolicies } from './checks/network-policies.ts';
import { checkNodeMetadata } from './checks/node-metadata.ts';
import { checkNodePools } from './checks/node-pools.ts';
import { checkOptionalRights } from './checks/optional-rights.ts';
import { checkOtherWebhooks } from './checks/other-webhooks.ts';
import { checkPolicies } from './checks/policies.ts';
import { checkRegistration } from './checks/registration.ts';
import { checkReplicas } from './checks/replicas/replicas.ts';
import { checkRights } from './checks/rights.ts';
import { checkRoundTrip } from './checks/round-trip.ts';
import { checkSecret } from './checks/secret.ts';
import { checkSelectors } from './checks/selectors.ts';
import { checkService } from './checks/service.ts';
import { checkServing } from './checks/serving-certificate.ts';
import { checkVersions } from './checks/versions.ts';
import type { Facts } from './facts/facts.ts';

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

  { area: 'certificate', name: 'Secret', dependsOn: [], run: checkSecret },
  { area: 'certificate', name: 'serving certificate', dependsOn: ['Secret', 'clocks'], run: checkServing },
  { area: 'certificate', name: 'certificate names', dependsOn: [], run: checkNames },
  { area: 'certificate', name: 'agreement of replicas', dependsOn: ['serving certificate'], run: checkAgreement },
  {
    area: 'certificate',
    name: 'caBundle',
    dependsOn: ['Secret', 'agreement of replicas', 'clocks'],
    run: checkCaBundle,
  },
  { area: 'certificate', name: 'clocks', dependsOn: [], run: checkClocks },

  { area: 'network', name: 'Service', dependsOn: [], run: checkService },
  { area: 'network', name: 'replicas', dependsOn: ['Service', ...CERTIFICATE_CHECKS], run: checkReplicas },
  { area: 'network', name: 'endpoints', dependsOn: ['Service', 'replicas'], run: checkEndpoints },
  // Without certificates that can be served, a replica does not even listen.
  { area: 'network', name: 'round trip', dependsOn: ['Secret', 'replicas'], run: checkRoundTrip },
  { area: 'network', name: 'NetworkPolicies', dependsOn: [], run: checkNetworkPolicies },
  {
    area: 'network',
    name: 'admission',
    dependsOn: [...CERTIFICATE_CHECKS, 'Service', 'replicas', 'endpoints', 'round trip'],
    run: checkAdmission,
  },

  {
    area: 'configuration',
    name: 'policies',
    dependsOn: [...LEADER_NEEDS, 'leader', 'other webhooks', 'optional rights'],
    run: checkPolicies,
  },
  { area: 'configuration', name: 'selectors', dependsOn: [], run: checkSelectors },
  { area: 'configuration', name: 'contradictions', dependsOn: [], run: checkContradictions },
  { area: 'configuration', name: 'node pools', dependsOn: [], run: checkNodePools },
  { area: 'configuration', name: 'other webhooks', dependsOn: [], run: checkOtherWebhooks },
  { area: 'configuration', name: 'rights', dependsOn: [], run: checkRights },
  // A right that only some policies need is not needed for leader election.
  { area: 'configuration', name: 'optional rights', printed: 'rights', dependsOn: [], run: checkOptionalRights },
  { area: 'configuration', name: 'leader', dependsOn: ELECTION_NEEDS, run: checkLeader },
  { area: 'configuration', name: 'failed calls', dependsOn: [], run: checkFailedCalls },
  { area: 'configuration', name: 'versions', dependsOn: [], run: checkVersions },
  { area: 'configuration', name: 'control plane', dependsOn: [], run: checkControlPlane },
  { area: 'configuration', name: 'node metadata', dependsOn: [], run: checkNodeMetadata },
  { area: 'configuration', name: 'ignored DaemonSets', dependsOn: [], run: checkIgnoredDaemonSets },
  {
    area: 'configuration',
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
