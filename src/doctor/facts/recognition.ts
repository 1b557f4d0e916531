import { parseCertificates } from '../../certs/bundle.ts';
import { signerOf } from '../../certs/chain.ts';
import { issuerOf } from '../../certs/distinguished-name.ts';
import { isIssuedByUs } from '../../certs/issue.ts';
import { caBundleOf } from '../../cluster/admission-registration/webhook-configurations.ts';
import type { Dialled } from './dial.ts';
import type { InstallationFacts } from './installation-facts.ts';

/** Returns the connection to this address as it is, or as failed if something other than taintkeeper answered. */
export type Recognise = (dialled: Dialled, address: string) => Dialled;

/**
 * Recognises taintkeeper by its certificate. The certificate is the one in the Secret, or was issued by a CA of the Secret or of the
 * webhooks, or by a CA that taintkeeper made. The answer does not tell: a transparent proxy between this machine and the pods has its own
 * certificates and may pass on the right answer.
 */
export function recogniserFor({ secret, webhooks }: Pick<InstallationFacts, 'secret' | 'webhooks'>): Recognise {
  const files = secret.ok ? secret.value : undefined;
  const [stored] = parseCertificates(files?.cert);
  const bundles = webhooks.ok ? webhooks.value.map(caBundleOf) : [];
  const cas = [files?.bundle, ...bundles].flatMap((pem) => parseCertificates(pem));
  return (dialled, address) => {
    if (dialled.outcome === 'failed') return dialled;
    const { chain } = dialled.greeting;
    const isKnown = chain.some(
      (one) => one.fingerprint256 === stored?.fingerprint256 || isIssuedByUs(one) || signerOf(one, cas) !== undefined,
    );
    if (isKnown) return dialled;
    const issuer = chain[0] ? issuerOf(chain[0]) : 'no CA';
    const message = `something else answers at ${address}: its certificate was issued by ${issuer}, which is no CA of taintkeeper's Secret or webhooks`;
    return { outcome: 'failed', fault: { kind: 'foreign', message } };
  };
}
