import { parseCertificates } from '../../certs/bundle.ts';
import { organizationsOf } from '../../certs/distinguished-name.ts';
import { count } from '../../text/counts.ts';
import { finding } from '../check.ts';
import type { ClientJudgement } from './client-certificate.ts';
import { clientByClock } from './own-clock.ts';
import { NEW_TALOSCONFIG, SET_CLOCK, SET_ENDPOINTS } from './remedies.ts';
import type { TalosFacts, TalosFinding } from './talos-facts.ts';

const SOON_MS = 30 * 86_400_000;

/** Checks that a context has what is needed to reach a cluster, and that there is an address, for example from the command line. */
export function checkContext({ context, apis }: TalosFacts): readonly TalosFinding[] {
  const { name, ca, proxy, endpoints, otherAuth } = context;
  const results: TalosFinding[] = [];
  if (apis.length === 0)
    results.push({
      area: 'configuration',
      state: 'problem',
      evidence: `context ${name} has no endpoints`,
      remedy: SET_ENDPOINTS,
    });
  if (proxy !== undefined)
    results.push({
      area: 'network',
      name: 'proxy',
      state: 'note',
      evidence: `context ${name} uses proxy ${proxy}; this command dialled the addresses without it`,
    });
  if (otherAuth === undefined && (ca === undefined || parseCertificates(ca).length === 0))
    results.push({
      area: 'certificate',
      state: 'problem',
      evidence: `context ${name} has no CA that can be read`,
      remedy: NEW_TALOSCONFIG,
    });
  if (results.some(({ state }) => state === 'problem')) return results;
  const evidence = `context ${name}, ${count(endpoints.length, 'endpoint')}`;
  return [finding('ok', evidence), ...results];
}

/** Checks the client certificate of a context. */
export function checkClient({ context, client, clock, now }: TalosFacts): TalosFinding {
  return clientByClock(context, clock, now) ?? clientFinding(context.name, client, now);
}

function clientFinding(context: string, client: ClientJudgement, now: Date): TalosFinding {
  switch (client.is) {
    case 'not needed':
      return finding('skipped', `context ${context} uses ${client.otherAuth} and no certificate`);
    case 'absent':
      return finding('problem', `context ${context} has no client certificate that can be read`, NEW_TALOSCONFIG);
    case 'unreadable':
      return finding('problem', client.reason, NEW_TALOSCONFIG);
    case 'not valid yet': {
      const since = client.certificate.validFromDate.toISOString();
      return finding('problem', `it is not valid before ${since}: this machine's clock is behind`, SET_CLOCK);
    }
    case 'expired':
      return finding('problem', `it expired at ${client.certificate.validToDate.toISOString()}`, NEW_TALOSCONFIG);
    case 'mixed':
      return finding(
        'problem',
        'it is not signed by the CA of its own context: parts of two talosconfigs are mixed',
        NEW_TALOSCONFIG,
      );
    case 'valid': {
      const { validToDate } = client.certificate;
      const until = validToDate.toISOString();
      const roles = organizationsOf(client.certificate).join(', ') || 'no role';
      return validToDate.getTime() - now.getTime() < SOON_MS
        ? finding(
            'note',
            `it expires at ${until} (${roles})`,
            'while it is valid: talosctl config new --roles os:admin NEW-FILE',
          )
        : finding('ok', `valid until ${until} (${roles})`);
    }
  }
}
