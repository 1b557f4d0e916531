import type { ApiClient } from '../../cluster/client/api-client.ts';
import type { ClusterChoice } from '../../cluster/client/kube-config.ts';
import { type PolicyObject, policiesInForce, policyFault, runsInAudit } from '../../cluster/policies/policy-object.ts';
import { POLICY_KINDS } from '../../cluster/policies/policy-paths.ts';
import { readBuiltinPolicies } from '../../files/builtin-policies.ts';
import { InputError } from '../../files/input-error.ts';
import { parsePolicies, readPolicyFiles } from '../../files/policy-files.ts';
import { needsNativePolicies } from '../../policy/backstop.ts';
import type { Policy } from '../../policy/policy.ts';
import { AUDIT_NOTE } from '../../policy/reporting/policy-messages.ts';
import { atCluster } from '../cluster-options.ts';
import { installedPolicies } from '../installed-policies.ts';
import { withProgress } from '../output/stderr.ts';

/** The policies to export. */
export interface ExportSource {
  readonly policies: readonly Policy[];
  /** Their source, in a few words. */
  readonly what: string;
  readonly notes: readonly string[];
  /** The version of the API server that they come from. */
  readonly server?: string;
}

export interface SourceOptions extends ClusterChoice {
  readonly policies?: readonly string[];
  readonly cluster?: true;
}

/** The policies of the cluster, of files, or the built-in ones. @throws InputError */
export async function readSource(options: SourceOptions): Promise<ExportSource> {
  if (options.cluster) {
    return atCluster(options, (client) => withProgress('reading the policies', readFromCluster(client)));
  }
  if (options.policies) {
    const policies = parsePolicies(await readPolicyFiles(options.policies));
    return { policies, what: `exported ${counted(policies)} of files`, notes: [] };
  }
  const policies = parsePolicies(await readBuiltinPolicies());
  const notes = ['--cluster exports the policies of a cluster, and --policies those of files'];
  return { policies, what: `exported the ${counted(policies)} that are built in`, notes };
}

const counted = ({ length }: readonly Policy[]) => (length === 1 ? '1 policy' : `${length} policies`);

async function readFromCluster(client: ApiClient): Promise<ExportSource> {
  const [{ gitVersion }, objects] = await Promise.all([
    client.request<{ gitVersion: string }>('GET', '/version'),
    installedPolicies(client, ...POLICY_KINDS),
  ]);
  const policies = policiesInForce(objects);
  if (policies.length === 0) throw new InputError([`${client.server}: no policy is in force there`]);
  return {
    policies,
    what: `exported ${counted(policies)} of ${client.server}`,
    notes: [
      ...objects.flatMap(notesOn),
      ...(objects.some(runsInAudit) ? [`${AUDIT_NOTE}. The exported objects act in the modes of the policies`] : []),
    ],
    server: gitVersion,
  };
}

/** Notes on policies of the cluster that differ from what is in force. */
function notesOn(object: PolicyObject): string[] {
  const { kind, name, inForce } = object;
  if (inForce === undefined) return [`${kind} ${name} is left out: ${policyFault(object)}`];
  return needsNativePolicies(inForce.policy)
    ? [`${kind} ${name}: the leader writes objects of these names itself, so do not apply both`]
    : [];
}
