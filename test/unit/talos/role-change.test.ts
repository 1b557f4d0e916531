import { expect, it } from 'vitest';
import { parseDocuments } from '../../../src/files/documents.ts';
import { readMachineConfiguration } from '../../../src/talos/machine-configuration.ts';
import { roleChange } from '../../../src/talos/role-change.ts';

const configuration = (type: string | undefined, ...fields: string[]) => {
  const lines = ['machine:', ...(type ? [`  type: ${type}`] : ['  sysctls: {}']), ...fields];
  return readMachineConfiguration(parseDocuments(lines.join('\n'), 'a.yaml'), 'a.yaml');
};
const TALOS_KEY = '  ca: { crt: a, key: b }';
const KUBERNETES_KEY = 'cluster: { ca: { crt: a, key: b } }';

it.each([
  { from: 'worker', to: 'controlplane', with: [], version: 13, refusal: /needs machine\.ca\.key/ },
  { from: 'worker', to: 'init', with: ['  ca: { crt: a, key: "" }'], version: 8, refusal: /needs machine\.ca\.key/ },
  { from: 'worker', to: 'controlplane', with: [], version: 7, refusal: undefined },
  { from: 'worker', to: 'controlplane', with: [TALOS_KEY], version: 13, refusal: undefined },
  { from: 'controlplane', to: 'worker', with: [TALOS_KEY], version: 7, refusal: /may not have machine\.ca\.key/ },
  { from: 'controlplane', to: 'join', with: [KUBERNETES_KEY], version: 15, refusal: /may not have cluster\.ca\.key/ },
  { from: 'controlplane', to: 'worker', with: [TALOS_KEY], version: 6, refusal: undefined },
  {
    from: 'controlplane',
    to: 'worker',
    with: [],
    version: 8,
    refusal: /needs machine\.ca\.crt or machine\.acceptedCAs/,
  },
  { from: 'controlplane', to: 'worker', with: [], version: 7, refusal: undefined },
  { from: 'controlplane', to: 'worker', with: ['  ca: { crt: a }'], version: 13, refusal: undefined },
  { from: 'controlplane', to: 'worker', with: ['  acceptedCAs: [{ crt: a }]'], version: 13, refusal: undefined },
])('from $from to $to, with $with, in Talos 1.$version', ({ from, to, with: fields, version, refusal }) => {
  const change = roleChange(configuration(from), configuration(to, ...fields), version);
  expect(change).toBeDefined();
  expect(change?.refusal ?? '').toMatch(refusal ?? /^$/);
});

it.each([
  { why: 'the same role', from: 'worker', to: 'worker' },
  { why: 'two names of one role', from: 'init', to: 'controlplane' },
  { why: 'two names of the other', from: 'worker', to: 'join' },
  { why: 'it is not known which it was', from: undefined, to: 'worker' },
])('is no change of the role: $why', ({ from, to }) => {
  expect(roleChange(configuration(from), configuration(to), 13)).toBeUndefined();
});
