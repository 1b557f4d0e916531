import { expect, it } from 'vitest';
import { parseEndpoint } from '../../../src/talos/endpoint.ts';
import { readTalosContext } from '../../../src/talos/talosconfig.ts';
import { talosconfig } from './apid.ts';

it.each([
  { text: '10.0.0.5', host: '10.0.0.5', port: 50_000 },
  { text: '10.0.0.5:50001', host: '10.0.0.5', port: 50_001 },
  { text: 'cp.example.com', host: 'cp.example.com', port: 50_000 },
  { text: 'fd00::5', host: 'fd00::5', port: 50_000 },
  { text: '[fd00::5]:50001', host: 'fd00::5', port: 50_001 },
  { text: '[fd00::5]', host: 'fd00::5', port: 50_000 },
  { text: 'https://talos.example.com', host: 'talos.example.com', port: 443 },
  { text: 'https://talos.example.com:8443/', host: 'talos.example.com', port: 8443 },
])('an endpoint is read as talosctl reads it: $text', ({ text, host, port }) => {
  expect(parseEndpoint(text)).toEqual({ host, port });
});

const read = (context: object) =>
  readTalosContext(talosconfig(['a'], undefined, undefined, context), 'talosconfig', undefined);

it('of a context, what a person wrote before Talos 0.3 counts, too', () => {
  expect(read({ target: '10.0.0.9' }).endpoints).toEqual(['a', '10.0.0.9']);
});

it.each([
  { auth: { siderov1: { identity: 'a@example.com' } }, otherAuth: 'siderov1' },
  { auth: { basic: { username: 'a', password: 'b' } }, otherAuth: 'basic' },
  { auth: {}, otherAuth: undefined },
])('who needs no certificate: $otherAuth', ({ auth, otherAuth }) => {
  expect(read({ auth }).otherAuth).toBe(otherAuth);
});

it.each(['2026', '0010', '1.10', 'true'])('the name of a context is a text as written: %s', (name) => {
  const text = `context: ${name}\ncontexts:\n  ${name}: { endpoints: [a] }\n  other: {}\n`;
  expect(readTalosContext(text, 'talosconfig', undefined)).toMatchObject({ name, others: ['other'], endpoints: ['a'] });
});

it('what is no certificate is none', () => {
  expect(read({ ca: 'not Base64 at all', crt: 5, key: '' })).toMatchObject({
    ca: undefined,
    crt: undefined,
    key: undefined,
  });
});
