import type { X509Certificate } from 'node:crypto';
import { expect, it, onTestFinished } from 'vitest';
import type { CertificateKeeper } from '../../../src/certs/certificate-keeper.ts';
import type { ServableCertificates } from '../../../src/certs/servable-certificates.ts';
import { createMetrics } from '../../../src/replica/metrics.ts';
import { openServedTls } from '../../../src/replica/served-tls.ts';
import { captureLog } from '../captured-log.ts';

const DAY_SECONDS = 86_400;
/** A certificate that ends so many days after the epoch. */
const endsOnDay = (days: number) => ({ validToDate: new Date(days * DAY_SECONDS * 1000) }) as X509Certificate;

it('the metric of the end of a certificate has only the certificates that are served now, and their CA', async () => {
  const metrics = createMetrics('0.0.0-test');
  let serve = (_: ServableCertificates) => {};
  const served = await openServedTls({
    async open(onServe) {
      serve = onServe;
      return { keeper: { stop() {} } as CertificateKeeper };
    },
    clientCa: undefined,
    metrics,
    log: captureLog().log,
  });
  onTestFinished(served.stop);
  const ends = async (certificate: X509Certificate, ca: X509Certificate | undefined) => {
    serve({ certificate, ca } as ServableCertificates);
    const { values = [] } =
      (await metrics.registry.getSingleMetric('taintkeeper_certificate_expiry_timestamp_seconds')?.get()) ?? {};
    return Object.fromEntries(values.map(({ labels, value }) => [labels.certificate, value / DAY_SECONDS]));
  };

  expect(await ends(endsOnDay(90), endsOnDay(3650))).toEqual({ serving: 90, ca: 3650 });
  expect(await ends(endsOnDay(180), undefined)).toEqual({ serving: 180 });
  expect(await ends(endsOnDay(270), endsOnDay(4000))).toEqual({ serving: 270, ca: 4000 });
});
