import { expect, it } from 'vitest';
import { refusal } from '../../../src/page/trusted-request.ts';

it.each([
  '127.0.0.1',
  '127.0.0.1:8080',
  '10.244.1.7:8080',
  '[::1]:8080',
  '[fd00::7]',
  'localhost:8080',
  'LocalHost',
  'dashboard.localhost:1',
  'taintkeeper.taintkeeper.svc:8080',
  'taintkeeper.taintkeeper.svc.cluster.local:8080',
])('answers for %s, which no other party can own', (host) => {
  expect(refusal({ host })).toBeUndefined();
});

it.each([
  'evil.example',
  'localhost.evil.example:8080',
  'taintkeeper.svc.evil.example',
  'notlocalhost',
  'taintkeeper',
  '127.0.0.1.nip.io',
  '[evil.example]:80',
  '1.2.3.4.5',
  '127.0.0.1:8080@evil.example',
  '',
  undefined,
])('does not answer for %s', (host) => {
  expect(refusal({ host })).toMatch(/^open this page by an IP address/);
});

it.each([
  { why: "the page's own request", headers: { 'sec-fetch-site': 'same-origin' }, refused: false },
  { why: 'an address that was typed', headers: { 'sec-fetch-site': 'none' }, refused: false },
  { why: 'no browser', headers: {}, refused: false },
  { why: "another page's fetch", headers: { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'cors' }, refused: true },
  { why: 'another port of this machine', headers: { 'sec-fetch-site': 'same-site' }, refused: true },
  {
    why: 'a link on another page',
    headers: { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' },
    refused: false,
  },
  {
    why: 'a frame in another page',
    headers: { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'iframe' },
    refused: true,
  },
])('$why: refused $refused', ({ headers, refused }) => {
  expect(refusal({ host: 'localhost', ...headers }) !== undefined).toBe(refused);
});
