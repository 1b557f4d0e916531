import { namesOf, uncoveredNames } from '../../certs/inspect.ts';
import { alike } from '../alike.ts';
import type { CheckResult } from '../check.ts';
import type { Facts } from '../facts.ts';
import { renewal } from './renewal.ts';
import { type Served, servedBy, unservedReason } from './served.ts';

const AREA = { area: 'certificate', name: 'certificate names' } as const;

/** Whether what each replica serves is for the name that the API server asks for. */
export function checkNames(facts: Facts): CheckResult {
  const { serverName, site } = facts;
  const served = servedBy(facts);
  if (served.length === 0) return { ...AREA, state: 'skipped', evidence: unservedReason(facts) };
  const wrong = served.filter(({ leaf }) => uncoveredNames(leaf, [serverName]).length > 0);
  if (wrong.length === 0) return { ...AREA, state: 'ok', evidence: `for ${serverName}` };
  const namesIn = ({ leaf }: Served) => namesOf(leaf).join(', ') || 'no name at all';
  const found = alike(
    wrong,
    namesIn,
    (group) => `the certificate of ${group.map(({ replica }) => replica).join(', ')} is for ${namesIn(group[0])}`,
  );
  return {
    ...AREA,
    state: 'trouble',
    evidence: `the API server asks for ${serverName}, and ${found}`,
    remedy: `is the Service called ${site.service}, in namespace ${site.namespace} (--service, --namespace)? If so, ${renewal(facts)}`,
  };
}
