import { expect, it } from 'vitest';
import {
  auditKey,
  eventOf,
  isWarning,
  missing,
  type Outcome,
  onTrial,
  outcomeText,
  removal,
} from '../../../src/judge/outcomes.ts';

it.each<{ outcome: Outcome; text: string; key: string; event: string; warns?: true }>([
  { outcome: removal('Denied'), text: 'denied', key: 'denied', event: 'TaintRemovalDenied', warns: true },
  { outcome: removal('Restored'), text: 'restored', key: 'restored', event: 'TaintRestored' },
  { outcome: removal('Audited'), text: 'audited', key: 'audited', event: 'TaintRemoved', warns: true },
  {
    outcome: removal('AllowedByExemption'),
    text: 'allowed by exemption',
    key: 'allowed-by-exemption',
    event: 'TaintRemoved',
  },
  {
    outcome: removal('AllowedByAnnotation'),
    text: 'allowed by annotation',
    key: 'allowed-by-annotation',
    event: 'TaintRemoved',
  },
  { outcome: missing('Added'), text: 'added', key: 'added', event: 'TaintAdded' },
  { outcome: missing('Reported'), text: 'missing', key: 'reported', event: 'TaintMissing', warns: true },
  { outcome: missing('Audited'), text: 'audited', key: 'audited', event: 'TaintMissing', warns: true },
  {
    outcome: onTrial(removal('Denied')),
    text: 'would deny',
    key: 'audit-denied',
    event: 'TaintRemoved',
    warns: true,
  },
  {
    outcome: onTrial(removal('Restored')),
    text: 'would restore',
    key: 'audit-restored',
    event: 'TaintRemoved',
    warns: true,
  },
  { outcome: onTrial(missing('Added')), text: 'would add', key: 'audit-added', event: 'TaintMissing', warns: true },
])('$outcome.change $outcome.result, audit $outcome.audit: is "$text", $key, and $event', (expected) => {
  const { outcome, text, key, event, warns = false } = expected;
  expect([outcomeText(outcome), auditKey(outcome), isWarning(outcome)]).toEqual([text, key, warns]);
  expect(eventOf(outcome, 'Taint').reason).toBe(event);
});

it.each([
  { outcome: missing('Added'), event: 'TolerationAdded' },
  { outcome: onTrial(missing('Added')), event: 'TolerationMissing' },
  { outcome: missing('Audited'), event: 'TolerationMissing' },
])('a toleration has the Event $event', ({ outcome, event }) => {
  expect(eventOf(outcome, 'Toleration').reason).toBe(event);
});
