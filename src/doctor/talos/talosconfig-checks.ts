import { parseCertificates } from '../../certs/bundle.ts';
import { organizationsOf } from '../../certs/distinguished-name.ts';
import type { TalosContext } from '../../talos/talosconfig.ts';
import { count } from '../../text/counts.ts';
import { type CheckResult, type Finding, finding, type UnnamedResult } from '../check.ts';
import type { ClientJudgement } from './client-certificate.ts';
import { NEW_TALOSCONFIG, SET_CLOCK, SET_ENDPOINTS } from './remedies.ts';

const SOON_MS = 30 * 86_400_000;

/** Checks that a context has what is needed to reach a cluster. @param isDialled whether there is an address, for example from the command line */
export function checkContext(
  { name, ca, proxy, endpoints, otherAuth }: TalosContext,
  isDialled: boolean,
): CheckResult[] {
  const results: CheckResult[] = [];
  if (!isDialled)
    results.push({
      area: 'configuration',
      name: 'talosconfig',
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
      name: 'talosconfig',
      state: 'problem',
      evidence: `context ${name} has no CA that can be read`,
      remedy: NEW_TALOSCONFIG,
    });
  if (results.some(({ state }) => state === 'problem')) return results;
  const evidence = `context ${name}, ${count(endpoints.length, 'endpoint')}`;
  return [{ area: 'configuration', name: 'talosconfig', state: 'ok', evidence }, ...results];
}

/** Checks the client certificate of a context. */
export function checkClient({ name }: TalosContext, client: ClientJudgement, now: Date): CheckResult {
  return { area: 'certificate', name: 'client certificate', ...clientFinding(name, client, now) };
}

function clientFinding(context: string, client: ClientJudgement, now: Date): Finding {
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

/** Explains why Talos' API refuses the client certificate. @param said the message of TLS */
export function refusedClient(
  said: string,
  { crt, otherAuth }: TalosContext,
  { clientIsUsable, now }: { readonly clientIsUsable: boolean; readonly now: Date },
): UnnamedResult {
  if (!clientIsUsable)
    return {
      area: 'certificate',
      state: 'skipped',
      evidence: `it refuses the client certificate (${said}): see client certificate`,
    };
  if (crt === undefined)
    return {
      area: 'certificate',
      state: 'skipped',
      evidence: `it requires a client certificate, and the context uses ${otherAuth ?? 'none'}`,
    };
  const [certificate] = parseCertificates(crt);
  if (/expired/.test(said)) {
    const until = certificate?.validToDate.toISOString();
    return {
      area: 'certificate',
      state: 'problem',
      evidence: `clocks: it treats the client certificate as expired, although that is valid until ${until}: the node's clock is ahead`,
      remedy: 'set machine.time.servers, and check that the node reaches them',
    };
  }
  const ageMs = certificate ? now.getTime() - certificate.validFromDate.getTime() : Number.POSITIVE_INFINITY;
  const hint =
    ageMs < 86_400_000
      ? ': its clock is behind, because the certificate is new, or its CA was replaced'
      : ': its CA was replaced since, or it accepts other CAs';
  return {
    area: 'certificate',
    state: 'problem',
    evidence: `it refuses the client certificate (${said})${hint}`,
    remedy: NEW_TALOSCONFIG,
  };
}
