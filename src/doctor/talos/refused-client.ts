import { parseCertificates } from '../../certs/bundle.ts';
import type { TalosContext } from '../../talos/talosconfig.ts';
import { consequence, finding } from '../check.ts';
import { CLIENT_CERTIFICATE } from './check-names.ts';
import { NEW_TALOSCONFIG } from './remedies.ts';
import type { TalosFacts, TalosFinding } from './talos-facts.ts';

/** Explains why Talos' API refuses the client certificate. @param said the message of TLS */
export function refusedClient(said: string, { context, now }: TalosFacts): TalosFinding {
  return consequence(
    whyRefused(said, context, now),
    () => `it refuses the client certificate (${said}): see ${CLIENT_CERTIFICATE}`,
    [CLIENT_CERTIFICATE],
  );
}

function whyRefused(said: string, { crt, otherAuth }: TalosContext, now: Date): TalosFinding {
  if (crt === undefined)
    return finding('skipped', `it requires a client certificate, and the context uses ${otherAuth ?? 'none'}`);
  const [certificate] = parseCertificates(crt);
  if (/expired/.test(said)) {
    const until = certificate?.validToDate.toISOString();
    return finding(
      'problem',
      `clocks: it treats the client certificate as expired, although that is valid until ${until}: the node's clock is ahead`,
      'set machine.time.servers, and check that the node reaches them',
    );
  }
  const ageMs = certificate ? now.getTime() - certificate.validFromDate.getTime() : Number.POSITIVE_INFINITY;
  const hint =
    ageMs < 86_400_000
      ? ': its clock is behind, because the certificate is new, or its CA was replaced'
      : ': its CA was replaced since, or it accepts other CAs';
  return finding('problem', `it refuses the client certificate (${said})${hint}`, NEW_TALOSCONFIG);
}
