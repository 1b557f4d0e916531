import { parseCertificates } from '../../certs/bundle.ts';
import { signerOf } from '../../certs/chain.ts';
import { subjectOf } from '../../certs/distinguished-name.ts';
import type { TalosContext } from '../../talos/talosconfig.ts';

/** Describes the CAs of a context. CAs of Talos often have the same name, so the date is part of it. */
export function describeCa(ca: string): string {
  const cas = parseCertificates(ca).map(
    (own) => `${subjectOf(own)}, made on ${own.validFromDate.toISOString().slice(0, 10)}`,
  );
  return cas.join('; ');
}

/** Whether the client certificate is not of the CA of its own context. */
export function isMixed({ ca, crt }: Pick<TalosContext, 'ca' | 'crt'>): boolean {
  const [certificate] = parseCertificates(crt);
  return ca !== undefined && certificate !== undefined && !signerOf(certificate, parseCertificates(ca));
}
