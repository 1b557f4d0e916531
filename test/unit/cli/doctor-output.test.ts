import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { formatDiagnosis } from '../../../src/cli/doctor.ts';
import { diagnose } from '../../../src/doctor/check.ts';

const DIAGNOSIS = diagnose([
  { area: 'certificate', name: 'Secret', state: 'ok', evidence: 'is complete' },
  {
    area: 'network',
    name: 'round trip',
    state: 'trouble',
    evidence: 'nobody\u001b[2J listens',
    remedy: 'kubectl logs',
  },
]);

it('has the verdict first, then what was seen and what to do, harmless to a terminal', () => {
  expect(formatDiagnosis(DIAGNOSIS, 'table')).toBe(
    [
      'network: nobody\\u{1b}[2J listens',
      '',
      'AREA         CHECK       STATE    EVIDENCE',
      'certificate  Secret      ok       is complete',
      'network      round trip  trouble  nobody\\u{1b}[2J listens',
      '                                  -> kubectl logs',
      '',
    ].join('\n'),
  );
});

it('has all of it for machines', () => {
  expect(JSON.parse(formatDiagnosis(DIAGNOSIS, 'json'))).toEqual(DIAGNOSIS);
  expect(parse(formatDiagnosis(DIAGNOSIS, 'yaml'))).toEqual(DIAGNOSIS);
});
