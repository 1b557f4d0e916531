import { parseCertificates } from '../../certs/bundle.ts';
import { signerOf } from '../../certs/chain.ts';
import { organizationsOf, subjectOf } from '../../certs/distinguished-name.ts';
import { inspectPair } from '../../certs/inspect.ts';
import { atMost, count, shellWord } from '../../kubernetes/text.ts';
import type { TalosContext } from '../../talos/talosconfig.ts';
import type { CheckResult } from '../check.ts';
import { SET_CLOCK } from './own-clock.ts';

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
      remedy: 'talosctl config endpoint IP, with the addresses of control planes',
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
      remedy: ANEW,
    });
  if (results.some(({ state }) => state === 'problem')) return results;
  const evidence = `context ${name}, ${count(endpoints.length, 'endpoint')}`;
  return [{ area: 'configuration', name: 'talosconfig', state: 'ok', evidence }, ...results];
}

/** How to replace an unusable talosconfig. The name and the endpoint of the cluster may be any. */
const ANEW =
  "create a new talosconfig where the cluster's secrets.yaml is (if it is lost, first: talosctl gen secrets --from-controlplane-config controlplane.yaml): talosctl gen config --with-secrets secrets.yaml --output-types talosconfig CLUSTER https://ENDPOINT:6443";

/**
 * The command that gives a machine in maintenance mode its first configuration, which has secrets. Another machine could answer in its
 * place, so the user compares the fingerprint with the one on the console.
 */
export function firstConfiguration(host: string, file: string): string {
  return `talosctl apply-config --insecure --nodes ${shellWord(host)} --cert-fingerprint FINGERPRINT --file ${shellWord(file)}, with the fingerprint that the console of the machine shows`;
}

const MAX_NAMED = 5;

/** What to do if the CA of the talosconfig did not issue the machine's certificate. */
export function chooseOrRenew({ others }: Pick<TalosContext, 'others'>): string {
  if (others.length === 0) return ANEW;
  const named = atMost(MAX_NAMED, others).join(', ');
  return `if another context is that of this cluster (${named}), choose it: talosctl config context NAME; or ${ANEW}`;
}

/** Describes the CAs of a context. CAs of Talos often have the same name, so the date is part of it. */
export function describeCa(ca: string): string {
  const cas = parseCertificates(ca).map(
    (own) => `${subjectOf(own)}, made on ${own.validFromDate.toISOString().slice(0, 10)}`,
  );
  return cas.join('; ');
}

/** Whether the client certificate is not of the CA of its own context. */
export function isMixed({ ca, crt }: Pick<TalosContext, 'ca' | 'crt'>): boolean {
  const [certificate] = parseCertificates(crt ?? '');
  return ca !== undefined && certificate !== undefined && !signerOf(certificate, ca);
}

/** Checks the client certificate of a context. */
export function checkClient({ name, ca, crt, key, otherAuth }: TalosContext, now: Date): CheckResult {
  const check = 'client certificate';
  if (crt === undefined || key === undefined) {
    if (otherAuth)
      return {
        area: 'certificate',
        name: check,
        state: 'skipped',
        evidence: `context ${name} uses ${otherAuth} and no certificate`,
      };
    return {
      area: 'certificate',
      name: check,
      state: 'problem',
      evidence: `context ${name} has no client certificate that can be read`,
      remedy: ANEW,
    };
  }
  const inspection = inspectPair({ cert: crt, key });
  if (!inspection.ok)
    return { area: 'certificate', name: check, state: 'problem', evidence: inspection.reason, remedy: ANEW };
  const { certificate } = inspection;
  if (now < certificate.validFromDate) {
    const since = certificate.validFromDate.toISOString();
    return {
      area: 'certificate',
      name: check,
      state: 'problem',
      evidence: `it is not valid before ${since}: this machine's clock is behind`,
      remedy: SET_CLOCK,
    };
  }
  const until = certificate.validToDate.toISOString();
  if (now >= certificate.validToDate)
    return { area: 'certificate', name: check, state: 'problem', evidence: `it expired at ${until}`, remedy: ANEW };
  if (isMixed({ ca, crt })) {
    return {
      area: 'certificate',
      name: check,
      state: 'problem',
      evidence: 'it is not signed by the CA of its own context: parts of two talosconfigs are mixed',
      remedy: ANEW,
    };
  }
  const roles = organizationsOf(certificate).join(', ') || 'no role';
  if (certificate.validToDate.getTime() - now.getTime() < SOON_MS) {
    return {
      area: 'certificate',
      name: check,
      state: 'note',
      evidence: `it expires at ${until} (${roles})`,
      remedy: 'while it is valid: talosctl config new --roles os:admin NEW-FILE',
    };
  }
  return { area: 'certificate', name: check, state: 'ok', evidence: `valid until ${until} (${roles})` };
}

/** Explains why Talos' API refuses the client certificate. @param said the message of TLS */
export function refusedClient(
  check: string,
  said: string,
  { crt, otherAuth }: TalosContext,
  { clientIsValid, now }: { readonly clientIsValid: boolean; readonly now: Date },
): CheckResult {
  if (!clientIsValid)
    return {
      area: 'certificate',
      name: check,
      state: 'skipped',
      evidence: `it refuses the client certificate (${said}): see client certificate`,
    };
  if (crt === undefined)
    return {
      area: 'certificate',
      name: check,
      state: 'skipped',
      evidence: `it requires a client certificate, and the context uses ${otherAuth ?? 'none'}`,
    };
  const [certificate] = parseCertificates(crt);
  if (/expired/.test(said)) {
    const until = certificate?.validToDate.toISOString();
    return {
      area: 'certificate',
      name: check,
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
    name: check,
    state: 'problem',
    evidence: `it refuses the client certificate (${said})${hint}`,
    remedy: ANEW,
  };
}
