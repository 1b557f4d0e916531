import { expect, it } from 'vitest';
import { capabilitiesOf, DEFAULT_KUBERNETES, parseMinor } from '../../../src/native/native-capabilities.ts';
import { lockedVersion } from '../../control-plane/go-modules.ts';
import { KUBERNETES } from '../../control-plane/kubernetes.ts';

it.each([
  ['1.36', 36],
  ['v1.34.2', 34],
  ['v1.33.4+k3s1', 33],
  ['1.31.2-gke.1', 31],
  ['1.30+', 30],
  ['2.0', undefined],
  ['1', undefined],
  ['1.x', undefined],
  ['1.36 or so', undefined],
])('%s', (text, minor) => {
  expect(parseMinor(text)).toBe(minor);
});

it.each([
  [29, undefined],
  [30, { mutating: undefined, gated: false, readsManifests: false }],
  [34, { mutating: 'v1beta1', gated: true, readsManifests: false }],
  [35, { mutating: 'v1beta1', gated: true, readsManifests: false }],
  [36, { mutating: 'v1', gated: false, readsManifests: true }],
  [37, { mutating: 'v1', gated: false, readsManifests: true }],
])('what 1.%s has', (minor, capabilities) => {
  expect(capabilitiesOf(minor)).toEqual(capabilities && { version: `1.${minor}`, ...capabilities });
});

it('the newest is the one that the tests run against', () => {
  expect(parseMinor(lockedVersion(KUBERNETES, 'kube-apiserver'))).toBe(parseMinor(DEFAULT_KUBERNETES));
});
