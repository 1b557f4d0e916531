import { expect, it } from 'vitest';
import { ingressTo, type NetworkPolicyObject } from '../../../../src/doctor/facts/network-policy.ts';

const policy = (name: string, spec: NetworkPolicyObject['spec'] & object): NetworkPolicyObject => ({
  metadata: { name },
  spec,
});
const OURS = { podSelector: { matchLabels: { app: 'taintkeeper' } } };

it.each<{ why: string; policies: NetworkPolicyObject[]; access: string; selecting?: string[] }>([
  { why: 'none', policies: [], access: 'open' },
  {
    why: 'one for other pods',
    policies: [policy('x', { podSelector: { matchLabels: { app: 'y' } } })],
    access: 'open',
  },
  { why: 'one about egress alone', policies: [policy('x', { ...OURS, policyTypes: ['Egress'] })], access: 'open' },
  {
    why: 'one for all pods that allows nothing',
    policies: [policy('deny', {})],
    access: 'closed',
    selecting: ['deny'],
  },
  {
    why: 'a null list is an empty one',
    policies: [policy('deny', { ingress: null })],
    access: 'closed',
    selecting: ['deny'],
  },
  {
    why: 'a rule without ports and sources',
    policies: [policy('x', { ...OURS, ingress: [{}] })],
    access: 'open',
    selecting: ['x'],
  },
  {
    why: 'the port by its number',
    policies: [policy('x', { ...OURS, ingress: [{ ports: [{ port: 8443 }] }] })],
    access: 'open',
    selecting: ['x'],
  },
  {
    why: 'the port by its name',
    policies: [policy('x', { ...OURS, ingress: [{ ports: [{ port: 'webhook' }] }] })],
    access: 'open',
    selecting: ['x'],
  },
  {
    why: 'the port in a range',
    policies: [policy('x', { ...OURS, ingress: [{ ports: [{ port: 8000, endPort: 9000 }] }] })],
    access: 'open',
    selecting: ['x'],
  },
  {
    why: 'another port',
    policies: [policy('x', { ...OURS, ingress: [{ ports: [{ port: 8080 }] }] })],
    access: 'closed',
    selecting: ['x'],
  },
  {
    why: 'the port of another protocol',
    policies: [policy('x', { ...OURS, ingress: [{ ports: [{ protocol: 'UDP', port: 8443 }] }] })],
    access: 'closed',
    selecting: ['x'],
  },
  {
    why: 'from some places',
    policies: [policy('x', { ...OURS, ingress: [{ from: [{ podSelector: {} }] }] })],
    access: 'limited',
    selecting: ['x'],
  },
  {
    why: 'what one allows is allowed, whatever the others leave out',
    policies: [policy('deny', {}), policy('x', { ...OURS, ingress: [{ ports: [{ port: 8443 }] }] })],
    access: 'open',
    selecting: ['deny', 'x'],
  },
])('$why: $access', ({ policies, access, selecting = [] }) => {
  expect(ingressTo({ app: 'taintkeeper' }, { number: 8443, name: 'webhook' }, policies)).toEqual({
    access,
    policies: selecting,
  });
});
