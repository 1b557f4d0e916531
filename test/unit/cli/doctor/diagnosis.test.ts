import { stripVTControlCharacters } from 'node:util';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { formatDiagnosis } from '../../../../src/cli/doctor/diagnosis.ts';
import type { Area, CheckState } from '../../../../src/doctor/check.ts';
import { diagnose } from '../../../../src/doctor/diagnosis.ts';

const DIAGNOSIS = diagnose([
  { area: 'certificate', name: 'Secret', state: 'ok', evidence: 'is complete' },
  {
    area: 'network',
    name: 'round trip',
    state: 'problem',
    evidence: 'no replica\u001b[2J listens',
    remedy: 'kubectl logs',
  },
]);

it('has what is not right first, and what to do, harmless to a terminal', () => {
  expect(formatDiagnosis(DIAGNOSIS, 'table')).toBe(
    [
      'network: round trip: no replica\\u{1b}[2J listens',
      '  -> kubectl logs',
      '1 check ok; --all shows every check',
      '',
    ].join('\n'),
  );
});

it('has the cause first, then other problems, then notes', () => {
  const check = (area: Area, name: string, state: CheckState) => ({ area, name, state, evidence: `is ${state}` });
  const checks = [
    check('network', 'Service', 'problem'),
    check('network', 'replicas', 'note'),
    check('certificate', 'Secret', 'problem'),
    check('network', 'endpoints', 'skipped'),
    check('network', 'admission', 'ok'),
  ];
  const lines = [
    'certificate: Secret: is problem',
    'network: Service: is problem',
    'note: replicas: is note',
    '1 check ok, 1 skipped; --all shows every check',
    '',
  ];
  expect(formatDiagnosis(diagnose(checks), 'table')).toBe(lines.join('\n'));
  const coloured = formatDiagnosis(diagnose(checks), 'table', { colors: true });
  expect(coloured).toContain('\u001b[31m');
  expect(stripVTControlCharacters(coloured)).toBe(lines.join('\n'));
});

it.each([
  { result: 'healthy', state: 'ok' as const, lines: ['healthy: 1 check, no problems', ''] },
  {
    result: 'unknown',
    state: 'skipped' as const,
    lines: ['unknown: Secret: you may not get it', ''],
  },
])('is short where it is $result', ({ state, lines }) => {
  const evidence = state === 'ok' ? 'complete' : 'you may not get it';
  const diagnosis = diagnose([{ area: 'certificate', name: 'Secret', state, evidence }]);
  expect(formatDiagnosis(diagnosis, 'table')).toBe(lines.join('\n'));
});

it('with --all has the result first, then what was seen and what to do, harmless to a terminal', () => {
  expect(formatDiagnosis(DIAGNOSIS, 'table', { all: true })).toBe(
    [
      'network: no replica\\u{1b}[2J listens',
      '',
      'AREA         CHECK       STATE    EVIDENCE',
      'certificate  Secret      ok       is complete',
      'network      round trip  problem  no replica\\u{1b}[2J listens',
      '  -> kubectl logs',
      '',
    ].join('\n'),
  );
});

it('with --all on a narrow terminal, wraps the evidence and no command', () => {
  const remedy =
    'kubectl delete pods --namespace taintkeeper --field-selector=status.phase=Failed --selector=app.kubernetes.io/name=taintkeeper';
  const evidence = `pods stay after they have failed. To see them: ${remedy.replace('delete', 'get')}`;
  const diagnosis = diagnose([
    { area: 'network', name: 'replicas', state: 'note', evidence, remedy },
    { area: 'network', name: 'Service', state: 'ok', evidence: 'a' },
  ]);
  const { isTTY, columns } = process.stdout;
  Object.assign(process.stdout, { isTTY: true, columns: 60 });
  try {
    expect(stripVTControlCharacters(formatDiagnosis(diagnosis, 'table', { all: true }))).toBe(
      [
        'healthy: 2 checks, no problems, 1 note',
        '',
        'AREA     CHECK     STATE  EVIDENCE',
        'network  replicas  note   pods stay after they have failed.',
        '                          To see them:',
        `                          ${remedy.replace('delete', 'get')}`,
        `  -> ${remedy}`,
        'network  Service   ok     a',
        '',
      ].join('\n'),
    );
  } finally {
    Object.assign(process.stdout, { isTTY, columns });
  }
});

it('has all of it for machines', () => {
  expect(JSON.parse(formatDiagnosis(DIAGNOSIS, 'json'))).toEqual(DIAGNOSIS);
  expect(parse(formatDiagnosis(DIAGNOSIS, 'yaml'))).toEqual(DIAGNOSIS);
});
