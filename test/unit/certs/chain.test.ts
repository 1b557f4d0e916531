import { expect, it } from 'vitest';
import { parseCertificates } from '../../../src/certs/bundle.ts';
import { caOf, chainFault, isTrusted } from '../../../src/certs/chain.ts';
import { issueServing } from '../../../src/certs/issue.ts';
import { issueAuthority } from './authorities.ts';

const NOW = new Date('2026-06-01T12:00:00Z');
const ENDED = new Date(NOW.getTime() - 400 * 86_400_000);
const trusted = await issueAuthority('trusted root', NOW);
const unknown = await issueAuthority('unknown root', NOW);
/** One intermediate CA with a certificate of each root: cross-signed. */
const ofUnknown = await issueAuthority('intermediate', NOW, unknown);
const ofTrusted = await issueAuthority('intermediate', NOW, trusted, ofUnknown);
const leaf = await issueServing(ofUnknown, ['localhost'], NOW);
const roots = parseCertificates(trusted.cert);

const certificatesOf = (pairs: readonly { readonly cert: string }[]) =>
  pairs.flatMap(({ cert }) => parseCertificates(cert));

it.each([
  { order: 'first', issuers: [ofTrusted, ofUnknown] },
  { order: 'last', issuers: [ofUnknown, ofTrusted] },
])(
  'a chain leads to the root that is trusted, whose cross-signed intermediate certificate is $order',
  ({ issuers }) => {
    const chain = certificatesOf([leaf, ...issuers]);
    expect(chainFault(chain, roots, [], NOW)).toBeUndefined();
    expect(caOf(chain, roots)?.subject).toBe('CN=trusted root');
    expect(isTrusted(chain, roots, NOW)).toBe(true);
  },
);

it('names the validity of the path that leads to a CA, if another issuer of the same name leads to none', async () => {
  const ended = await issueAuthority('intermediate', ENDED, trusted, ofUnknown);
  const chain = certificatesOf([leaf, ofUnknown, ended]);
  expect(chainFault(chain, roots, [], NOW)).toBe('the CA is not valid after 2026-04-27T12:00:00.000Z');
});

it('ends at a root that signed itself, and is not trusted', () => {
  const chain = certificatesOf([leaf, ofUnknown, unknown]);
  expect(chainFault(chain, roots, [], NOW)).toBe('not signed by the CA');
});
