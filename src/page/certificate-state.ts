import type { CertificateKeeper } from '../certs/certificate-keeper.ts';
import { namesOf } from '../certs/inspect.ts';
import type { CertificateState } from './state.ts';

/** What is served, and how it is looked after. */
export function certificateState(certificates: Pick<CertificateKeeper, 'current' | 'fault'>): CertificateState {
  const { certificate, ca, renews } = certificates.current();
  const fault = certificates.fault();
  return {
    subject: (certificate.subject ?? '').split('\n').join(', '),
    names: namesOf(certificate),
    notBefore: certificate.validFromDate.toISOString(),
    notAfter: certificate.validToDate.toISOString(),
    ...(ca ? { caNotAfter: ca.validToDate.toISOString() } : {}),
    renews,
    ...(fault === undefined ? {} : { fault }),
  };
}
