import { namesText, uncoveredNames } from '../../certs/certificate-names.ts';
import { type Finding, finding } from '../check.ts';
import { describeGroups } from '../describe-groups.ts';
import type { Facts } from '../facts/facts.ts';
import { renewal } from '../renewal.ts';
import { type Served, servedBy, unservedReason } from '../served.ts';

/** Checks that the served certificates are for the server name of the API server's TLS handshake. */
export function checkNames(facts: Facts): Finding {
  const { serverName, installation } = facts;
  const served = servedBy(facts);
  if (served.length === 0) return finding('skipped', unservedReason(facts));
  const wrong = served.filter(({ leaf }) => uncoveredNames(leaf, [serverName]).length > 0);
  if (wrong.length === 0) return finding('ok', `for ${serverName}`);
  const namesIn = ({ leaf }: Served) => namesText(leaf);
  const wrongNames = describeGroups(
    wrong,
    namesIn,
    (group) => `the certificate of ${group.map(({ replica }) => replica).join(', ')} is for ${namesIn(group[0])}`,
  );
  return finding(
    'problem',
    `the API server asks for ${serverName}, and ${wrongNames}`,
    `check whether taintkeeper is in namespace ${installation.namespace} (--namespace). If it is: ${renewal(facts)}`,
  );
}
