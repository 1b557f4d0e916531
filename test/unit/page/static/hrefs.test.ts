import { expect, it } from 'vitest';
import { addressIn, hrefAt, hrefOf } from '../../../../src/page/static/hrefs.js';

it.each([
  { href: '#nodes', place: { tab: 'nodes', object: '', filters: {} } },
  { href: '#nodes/gpu-7.example.com', place: { tab: 'nodes', object: 'gpu-7.example.com', filters: {} } },
  {
    href: '#coverage/kube-system/kube-proxy?q=kube&show=tainted',
    place: { tab: 'coverage', object: 'kube-system/kube-proxy', filters: { q: 'kube', show: 'tainted' } },
  },
  {
    href: '#decisions?q=a%26b%3Dc+%3F%23',
    place: { tab: 'decisions', object: '', filters: { q: 'a&b=c ?#' } },
  },
  { href: '#nodes/a%3Fb%23', place: { tab: 'nodes', object: 'a?b#', filters: {} } },
])('an address is a place, and the reverse: $href', ({ href, place }) => {
  expect(hrefOf(place.tab, place.object, place.filters)).toBe(href);
  expect(addressIn(href)).toEqual(place);
});

it('leaves out what filters nothing', () => {
  expect(hrefOf('nodes', '', { q: '', show: 'missing' })).toBe('#nodes?show=missing');
});

it('takes a mistyped part of an address unchanged', () => {
  expect(addressIn('#nodes/%zz')).toEqual({ tab: 'nodes', object: '%zz', filters: {} });
  expect(addressIn('')).toEqual({ tab: '', object: '', filters: {} });
});

it('leads to a place by its address', () => {
  expect(hrefAt({ tab: 'nodes', filters: { show: 'missing', policy: 'p' } })).toBe('#nodes?show=missing&policy=p');
  expect(hrefAt({ tab: 'coverage', object: 'ns/a' })).toBe('#coverage/ns/a');
});
