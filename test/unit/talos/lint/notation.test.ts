import { expect, it } from 'vitest';
import { inShort, lintText } from './linted-files.ts';

const ALIAS = 'nodeAnnotations: &a { rack: 0010, x: 01 }';

/**
 * What Talos answers was tried: 1.13.9 by configloader.NewFromBytes of its pkg/machinery, 1.14.1 by the same go-yaml (4.0.0-rc.6) and CheckUnknownKeys
 * (siderolabs/gen 0.8.8) as its pkg/machinery has. That it cannot copy a date is from its source (deepCopyUnstructured).
 */
it.each<{ why: string; text: string; in13: boolean; in14: boolean }>([
  {
    why: 'an alias of a number',
    text: 'nodeAnnotations: { rack: &r 0010 }\n  nodeLabels: { rack: *r }',
    in13: true,
    in14: true,
  },
  { why: 'an alias of a mapping', text: `${ALIAS}\n  nodeLabels: *a`, in13: true, in14: true },
  { why: 'one alias, merged into labels', text: `${ALIAS}\n  nodeLabels: { <<: *a, x: 02 }`, in13: true, in14: false },
  { why: 'the same by !!merge', text: `${ALIAS}\n  nodeLabels: { !!merge <<: *a }`, in13: true, in14: false },
  { why: 'a list of aliases', text: `${ALIAS}\n  nodeLabels: { <<: [*a] }`, in13: false, in14: false },
  { why: 'a mapping without an anchor', text: 'nodeLabels: { <<: { rack: 0010 } }', in13: false, in14: false },
  { why: 'a merge key in quotes', text: 'nodeAnnotations: { "<<": 0010 }', in13: true, in14: true },
  {
    why: 'one alias, merged into fields',
    text: 'kubelet: &k { image: a }\n  install: { <<: *k }',
    in13: false,
    in14: false,
  },
  { why: 'a mapping, merged into fields', text: 'kubelet: { <<: { image: a } }', in13: false, in14: false },
  {
    why: "a merge key in the kubelet's configuration",
    text: 'kubelet: { extraConfig: { evictionHard: { <<: { memory.available: 5% } } } }',
    in13: true,
    in14: true,
  },
  { why: 'a date for a text', text: 'nodeAnnotations: { since: 2001-01-01 }', in13: true, in14: false },
  {
    why: 'a date by an alias',
    text: 'nodeAnnotations: { since: &d 2001-1-1 }\n  sysctls: { d: *d }',
    in13: true,
    in14: false,
  },
  { why: 'a date with a time', text: 'nodeAnnotations: { since: 2001-01-01T10:00:00Z }', in13: true, in14: false },
  { why: 'a date in quotes', text: 'nodeAnnotations: { since: "2001-01-01" }', in13: true, in14: true },
  { why: 'a text that begins with a date', text: 'nodeAnnotations: { since: 2001-01-01x }', in13: true, in14: true },
  { why: 'a date that is none', text: 'nodeAnnotations: { since: 2001-13-01 }', in13: true, in14: true },
  { why: 'a day that is none', text: 'nodeAnnotations: { since: 2023-02-29 }', in13: true, in14: true },
  { why: 'a leap day', text: 'nodeAnnotations: { since: 2024-02-29 }', in13: true, in14: false },
  { why: 'an hour that is none', text: 'nodeAnnotations: { since: 2001-01-01T24:00:00Z }', in13: true, in14: true },
  {
    why: 'a date and time of few digits',
    text: 'nodeAnnotations: { since: 2001-1-1T1:2:3Z }',
    in13: true,
    in14: false,
  },
  {
    why: "a date in the kubelet's configuration",
    text: 'kubelet: { extraConfig: { registerWithTaints: [{ key: a, value: 2001-01-01, effect: NoSchedule }] } }',
    in13: false,
    in14: false,
  },
  {
    why: 'the same in quotes',
    text: 'kubelet: { extraConfig: { registerWithTaints: [{ key: a, value: "2001-01-01", effect: NoSchedule }] } }',
    in13: true,
    in14: true,
  },
  { why: 'a date anywhere in a static pod', text: 'pods: [{ a: [[{ b: 2001-01-01 }]] }]', in13: false, in14: false },
  { why: 'a time alone', text: 'nodeAnnotations: { at: 12:30:45 }', in13: true, in14: true },
])('$why', ({ text, in13, in14 }) => {
  const of = (version: number) =>
    lintText(`machine:\n  type: worker\n  ${text}\n`, { version }).filter(({ rule }) => rule === 'notation');
  expect([of(13).length === 0, of(14).length === 0]).toEqual([in13, in14]);
});

it.each([
  { text: `${ALIAS}\n  nodeLabels:\n    <<: *a\n    y: 1`, found: ['5:5 notation machine.nodeLabels["<<"]'] },
  { text: 'nodeAnnotations:\n    since: 2001-01-01', found: ['4:5 notation machine.nodeAnnotations.since'] },
  { text: 'files:\n    - <<: { path: /a }', found: ['4:7 notation machine.files[0]["<<"]'] },
])('has the place: $found', ({ text, found }) => {
  const findings = lintText(`machine:\n  type: worker\n  ${text}\n`, { version: 14 });
  expect(findings.filter(({ rule }) => rule === 'notation').map(inShort)).toEqual(found);
});

it('a JSON patch may have any notation', () => {
  const patch = '- { op: add, path: /machine/nodeAnnotations, value: { <<: { a: b }, since: 2001-01-01 } }\n';
  expect(lintText(patch, { version: 13, role: 'worker' })).toEqual([]);
  expect(lintText(patch, { version: 14, role: 'worker' }).map(({ rule }) => rule)).toEqual(['deprecated-field']);
});

it('without a version, only what each version refuses is reported', () => {
  const text = (labels: string) => `machine:\n  type: worker\n  ${ALIAS}\n  nodeLabels: { ${labels}, d: 2001-01-01 }\n`;
  expect(lintText(text('<<: *a'))).toEqual([]);
  expect(lintText(text('<<: [*a]')).map(({ rule }) => rule)).toEqual(['notation']);
});
