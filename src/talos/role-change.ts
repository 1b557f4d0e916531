import { valueAt } from '../kubernetes/json.ts';
import { kindOf, textAt } from './document-values.ts';
import type { MachineConfiguration, MachineRole } from './machine-configuration.ts';

/** A configuration that gives a machine another role. */
export interface RoleChange {
  readonly from: MachineRole;
  readonly to: MachineRole;
  /** Why Talos refuses it. Undefined if it accepts it. */
  readonly refusal: string | undefined;
}

/**
 * Whether the machine gets another role. Talos has no rule about that. But only control planes may have the keys of the CAs, and they need the key of
 * Talos' own CA (Config.Validate of its v1alpha1 types). So Talos refuses a configuration of which only `machine.type` was changed.
 * @param live the configuration in force
 * @param desired a whole configuration, no patch
 * @param version the minor version of Talos 1 on the node
 */
export function roleChange(
  live: MachineConfiguration,
  desired: MachineConfiguration,
  version: number,
): RoleChange | undefined {
  const [from, to] = [live.role, desired.role];
  if (from === undefined || to === undefined || from === to) return undefined;
  return {
    from,
    to,
    refusal: to === 'worker' ? workerRefusal(desired, version) : controlPlaneRefusal(desired, version),
  };
}

const CA_REQUIRED_SINCE = 8;
const KEY_FORBIDDEN_SINCE = 7;

function controlPlaneRefusal(desired: MachineConfiguration, version: number): string | undefined {
  if (version < CA_REQUIRED_SINCE || hasKey(desired, 'machine')) return undefined;
  return 'a control plane needs machine.ca.key, the key of its CA';
}

function workerRefusal(desired: MachineConfiguration, version: number): string | undefined {
  if (version < KEY_FORBIDDEN_SINCE) return undefined;
  const section = (['machine', 'cluster'] as const).find((each) => hasKey(desired, each));
  if (section) return `a worker may not have ${section}.ca.key, the key of a CA`;
  const trusts = ['ca', 'acceptedCAs'].some((field) =>
    desired.documents.some(({ value }) => valueAt(value, ['machine', field])),
  );
  return version < CA_REQUIRED_SINCE || trusts ? undefined : 'a worker needs machine.ca.crt or machine.acceptedCAs';
}

function hasKey({ documents }: MachineConfiguration, section: 'machine' | 'cluster'): boolean {
  return documents.some((each) => kindOf(each) === undefined && textAt(each, [section, 'ca', 'key']));
}
