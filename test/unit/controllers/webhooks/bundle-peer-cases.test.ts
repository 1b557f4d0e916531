import { expect, it } from 'vitest';
import { fingerprints } from '../../../../src/certs/bundle.ts';
import { issueCa } from '../../../../src/certs/issue.ts';
import { carriedCas } from '../../../../src/controllers/webhooks/carried-cas.ts';

/*
 * What cert-manager's authors expect of the CAs that cainjector merges (internal/cainjector/bundle): the inputs and outcomes of their tests, for the
 * `caBundle` of a leader with files of its own. Ours has the CAs of the files first.
 */

const NOW = new Date();
const issued = async (at = NOW) => (await issueCa(at)).cert;
const [valid1, valid2, expired] = [await issued(), await issued(), await issued(new Date('2001-01-01T00:00:00Z'))];

it.each<{ test: string; bundle: string; additional: string; expected: string; differs?: string }>([
  { test: 'append_to_empty_bundle', bundle: '', additional: valid1, expected: valid1 },
  { test: 'append_to_non_empty_bundle', bundle: valid1, additional: valid2, expected: valid2 + valid1 },
  { test: 'removes_expired_certificates', bundle: valid1 + expired, additional: valid2, expected: valid2 + valid1 },
  { test: 'removes_duplicate_certificates', bundle: valid1 + valid1, additional: valid2, expected: valid2 + valid1 },
  { test: 'does_not_append_existing_certificates', bundle: valid1, additional: valid1, expected: valid1 },
  {
    test: 'does_not_append_expired_certificates',
    ...{ bundle: valid1, additional: expired, expected: expired + valid1 },
    differs: 'the CAs of the files are registered as they are written, and no API server trusts an expired one',
  },
  { test: 'a bundle that cannot be read is replaced', bundle: 'garbage', additional: valid1, expected: valid1 },
])('$test', ({ bundle, additional, expected }) => {
  const carried = carriedCas({
    registered: () => [bundle],
    overlapMs: 1_000,
    othersStayForMs: () => 0,
    now: () => NOW,
  });
  expect(fingerprints(carried.merge(additional, true) ?? '')).toEqual(fingerprints(expected));
});
