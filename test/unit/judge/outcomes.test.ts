import { expect, it } from 'vitest';
import {
  auditKey,
  eventOf,
  isWarning,
  missingOutcome,
  type Outcome,
  onTrial,
  outcomeText,
  removalOutcome,
} from '../../../src/judge/outcomes.ts';

it.each<{ outcome: Outcome; text: string; key: string; event: string; warns?: true }>([
  { outcome: removalOutcome('Denied'), text: 'denied', key: 'denied', event: 'TaintRemovalDenied', warns: true },
  { outcome: removalOutcome('Restored'), text: 'restored', key: 'restored', event: 'TaintRestored' },
  { outcome: removalOutcome('Audited'), text: 'audited', key: 'audited', event: 'TaintRemoved', warns: true },
  {
    outcome: removalOutcome('AllowedByExemption'),
    text: 'allowed by exemption',
    key: 'allowed-by-exemption',
    event: 'TaintRemoved',
  },
  {
    outcome: removalOutcome('AllowedByAnnotation'),
    text: 'allowed by annotation',
    key: 'allowed-by-annotation',
    event: 'TaintRemoved',
  },
  { outcome: missingOutcome('Added'), text: 'added', key: 'added', event: 'TaintAdded' },
  { outcome: missingOutcome('Reported'), text: 'missing', key: 'reported', event: 'TaintMissing', warns: true },
  { outcome: missingOutcome('Audited'), text: 'audited', key: 'audited', event: 'TaintMissing', warns: true },
  {
    outcome: onTrial(removalOutcome('Denied')),
    text: 'would deny',
    key: 'audit-denied',
    event: 'TaintRemoved',
    warns: true,
  },
  {
    outcome: onTrial(removalOutcome('Restored')),
    text: 'would restore',
    key: 'audit-restored',
    event: 'TaintRemoved',
    warns: true,
  },
  {
    outcome: onTrial(missingOutcome('Added')),
    text: 'would add',
    key: 'audit-added',
    event: 'TaintMissing',
    warns: true,
  },
])('$outcome.change $outcome.result, audit $outcome.audit: is "$text", $key, and $event', (expected) => {
  const { outcome, text, key, event, warns = false } = expected;
  expect([outcomeText(outcome), auditKey(outcome), isWarning(outcome)]).toEqual([text, key, warns]);
  expect(eventOf(outcome, 'Taint').reason).toBe(event);
});

it.each([
  { outcome: missingOutcome('Added'), event: 'TolerationAdded' },
  { outcome: onTrial(missingOutcome('Added')), event: 'TolerationMissing' },
  { outcome: missingOutcome('Audited'), event: 'TolerationMissing' },
])('a toleration has the Event $event', ({ outcome, event }) => {
  expect(eventOf(outcome, 'Toleration').reason).toBe(event);
});
