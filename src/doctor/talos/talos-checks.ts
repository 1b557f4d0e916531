import { hostPort } from '../facts/dial.ts';
import { CLIENT_CERTIFICATE, certificateCheckAt, TALOSCONFIG } from './check-names.ts';
import { configurationChecks } from './desired-configuration.ts';
import { checkVersions } from './node-versions.ts';
import { checkApi, checkApiCertificate } from './talos-api.ts';
import type { TalosCheck, TalosFacts } from './talos-facts.ts';
import { checkClient, checkContext } from './talosconfig-checks.ts';

/**
 * All checks, in the order in which they are printed: for each address two, and for a configuration one for each version of Talos and one for each node.
 */
export function talosChecks({ apis, answers, desired }: TalosFacts): TalosCheck[] {
  const addresses = apis.map((api) => ({ api, address: hostPort(api.host, api.port) }));
  const certificateChecks = addresses.map(({ address }) => certificateCheckAt(address));
  return [
    { name: TALOSCONFIG, area: 'configuration', dependsOn: [], run: checkContext },
    { name: CLIENT_CERTIFICATE, area: 'certificate', dependsOn: certificateChecks, run: checkClient },
    ...addresses.flatMap(({ api, address }): TalosCheck[] => [
      {
        name: certificateCheckAt(address),
        printed: address,
        area: 'certificate',
        dependsOn: [],
        run: (facts) => checkApiCertificate(api, facts),
      },
      {
        name: address,
        area: 'certificate',
        dependsOn: [TALOSCONFIG, CLIENT_CERTIFICATE],
        run: (facts) => checkApi(api, facts),
      },
    ]),
    { name: 'version', area: 'configuration', dependsOn: [], run: checkVersions },
    ...(desired === undefined ? [] : configurationChecks(desired, answers.nodes)),
  ];
}
