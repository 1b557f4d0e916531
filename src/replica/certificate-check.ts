import { parseCertificates } from '../certs/bundle.ts';
import type { CertificateKeeper } from '../certs/certificate-keeper.ts';
import { notFor } from '../certs/certificate-names.ts';
import { invalidAt } from '../certs/inspect.ts';
import { servableFault, servableInvalidAt } from '../certs/servable-certificates.ts';
import { CA_LOOKAHEAD_MS, EXPIRES_SOON_MS, FUTURE_CAUSE } from '../certs/stored-faults.ts';
import type { Check } from '../server/admin-server.ts';

export const NO_CERTIFICATE_YET: Check = { name: 'certificate', state: 'failed', detail: 'there is none yet' };

export interface ApiServerClock {
  readonly now: Date;
  /** Whether it agrees with the local clock. */
  readonly clocksAgree: boolean;
}

/**
 * Failed if no client can accept the certificate now. Degraded if it needs attention.
 * @param apiServer the clock of the API server, which is the only client, and calls by the requested names. Undefined if the clients are not known: some
 * may call by other names, and the local clock decides
 */
export function certificateCheck(certificates: CertificateKeeper, apiServer?: ApiServerClock): Check {
  const { now, clocksAgree } = apiServer ?? { now: new Date(), clocksAgree: true };
  const current = certificates.current();
  const { serving, certificate, ca, renews, uncovered } = current;
  const fault = certificates.fault();
  // If the clients are not known, they may trust another CA than that of the file.
  const invalid = apiServer ? servableFault(current, [], now) : servableInvalidAt(current, now);
  const unfit = notFor(uncovered);
  const isFuture =
    invalid !== undefined &&
    [...parseCertificates(serving.cert), ...(ca ? [ca] : [])].some(({ validFromDate }) => now < validFromDate);
  const concerns = [
    ...(isFuture && clocksAgree ? [renews === 'all' ? FUTURE_REPLACED : FUTURE_CAUSE] : []),
    ...(invalid && !clocksAgree
      ? [`it is ${now.toISOString()} by the API server's clock, and this machine's clock differs`]
      : []),
    ...(unfit ? [`it is ${unfit}`] : []),
    ...(renews === 'nothing' && !invalid && invalidAt(certificate, new Date(now.getTime() + EXPIRES_SOON_MS))
      ? ['it expires soon, and was not replaced']
      : []),
    ...(ca && renews === 'serving' && invalidAt(ca, new Date(now.getTime() + CA_LOOKAHEAD_MS))
      ? [`its CA expires ${ca.validToDate.toISOString()}, and is not replaced by itself`]
      : []),
    ...(fault ? [fault] : []),
  ];
  if (invalid || (apiServer && uncovered.length > 0)) {
    return { name: 'certificate', state: 'failed', detail: [...(invalid ? [invalid] : []), ...concerns].join('; ') };
  }
  const expires = `expires ${certificate.validToDate.toISOString()}, ${renews === 'nothing' ? 'renewed by its issuer' : 'renewed in time'}`;
  return concerns.length > 0
    ? { name: 'certificate', state: 'degraded', detail: [expires, ...concerns].join('; ') }
    : { name: 'certificate', state: 'ok', detail: expires };
}

const FUTURE_REPLACED = `${FUTURE_CAUSE}; the leader replaces it after ten minutes`;
