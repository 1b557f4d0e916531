import { expect, it } from 'vitest';
import { minorOf, patchesOf, substitutesFor } from '../../control-plane/pins/versions.ts';

it('the patches of a minor version are its releases, newest first', () => {
  const listed = ['v1.3.6', 'v1.36.0-rc.1', 'v1.36.0', 'v1.36.2', 'v1.36.10', 'v1.36.11-alpha.0', 'v1.37.0', 'v2.36.1'];
  expect(patchesOf(listed, '1.36')).toEqual(['v1.36.10', 'v1.36.2', 'v1.36.0']);
  expect(patchesOf(listed, '1.38')).toEqual([]);
});

it('the minor version is read from any version', () => {
  expect(minorOf('v3.6.16')).toBe('3.6');
  expect(minorOf('v2.5.0+incompatible')).toBe('2.5');
});

it.each([
  {
    why: 'the next later one comes first, then the next earlier one',
    lost: 'v0.9.1',
    listed: ['v0.8.0', 'v0.9.0', 'v0.9.1', 'v0.10.0', 'v0.11.0'],
    substitutes: ['v0.10.0', 'v0.11.0', 'v0.9.0', 'v0.8.0'],
  },
  {
    why: 'it may be on the list no more',
    lost: 'v0.9.1',
    listed: ['v0.9.0', 'v0.9.2'],
    substitutes: ['v0.9.2', 'v0.9.0'],
  },
  {
    why: 'pre-releases come last',
    lost: 'v1.0.1',
    listed: ['v1.0.0', 'v1.1.0-rc.0', 'v1.1.0'],
    substitutes: ['v1.1.0', 'v1.0.0', 'v1.1.0-rc.0'],
  },
  {
    why: 'a release is later than the commits before it',
    lost: 'v1.36.12-0.20260120151049-f2248ac996af',
    listed: ['v1.36.11', 'v1.36.12'],
    substitutes: ['v1.36.12', 'v1.36.11'],
  },
  {
    why: 'of a module without tags there is the newest commit',
    lost: 'v0.0.0-20240719175910-8a7402abbf56',
    listed: ['v0.0.0-20261014143641-f0251eb4aa3e'],
    substitutes: ['v0.0.0-20261014143641-f0251eb4aa3e'],
  },
  { why: 'there is no other', lost: 'v1.0.0', listed: ['v1.0.0'], substitutes: [] },
])('what may stand in for a lost version: $why', ({ lost, listed, substitutes }) => {
  expect(substitutesFor(lost, listed)).toEqual(substitutes);
});
