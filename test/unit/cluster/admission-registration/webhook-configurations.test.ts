import { expect, it } from 'vitest';
import { casStayForMs } from '../../../../src/cluster/admission-registration/webhook-configurations.ts';

const NOW = new Date('2026-06-01T12:00:00Z');
const HOUR_MS = 3_600_000;

it.each([
  { added: 'never', annotations: undefined, stayMs: 0 },
  { added: 'just now', annotations: { 'taintkeeper.dev/ca-added': '2026-06-01T12:00:00.000Z' }, stayMs: HOUR_MS },
  { added: '50 minutes ago', annotations: { 'taintkeeper.dev/ca-added': '2026-06-01T11:10:00Z' }, stayMs: HOUR_MS / 6 },
  { added: 'an hour ago', annotations: { 'taintkeeper.dev/ca-added': '2026-06-01T11:00:00Z' }, stayMs: 0 },
  {
    added: 'in a second, by the clock of another API server',
    annotations: { 'taintkeeper.dev/ca-added': '2026-06-01T12:00:01Z' },
    stayMs: HOUR_MS + 1_000,
  },
  { added: 'in years', annotations: { 'taintkeeper.dev/ca-added': '2099-01-01T00:00:00Z' }, stayMs: 0 },
  { added: 'at no time', annotations: { 'taintkeeper.dev/ca-added': 'soon' }, stayMs: 0 },
])('CAs stay for $stayMs ms if a replica added one $added', ({ annotations, stayMs }) => {
  const metadata = { name: 'taintkeeper', ...(annotations && { annotations }) };
  expect(casStayForMs({ metadata }, NOW, HOUR_MS)).toBe(stayMs);
});
