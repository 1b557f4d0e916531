import { expect, it } from 'vitest';
import { writerOf } from '../../../src/controllers/field-managers.ts';

const TAINTS = ['f:spec', 'f:taints'];

const wrote = (manager: string | undefined, time: string | undefined, fields: object, more = {}) => ({
  ...(manager === undefined ? {} : { manager }),
  ...(time === undefined ? {} : { time }),
  operation: 'Update',
  fieldsV1: fields,
  ...more,
});
const taints = { 'f:spec': { 'f:taints': {} } };

it.each<{ why: string; managedFields: object[] | undefined; writer: string | undefined }>([
  {
    why: 'the last of those who wrote the field',
    managedFields: [
      wrote('first', '2026-01-01T00:00:00Z', taints),
      wrote('last', '2026-03-01T00:00:00Z', taints),
      wrote('middle', '2026-02-01T00:00:00Z', taints),
      wrote('another field', '2026-04-01T00:00:00Z', { 'f:spec': { 'f:unschedulable': {} } }),
      wrote('another part', '2026-04-01T00:00:00Z', { 'f:status': { 'f:taints': {} } }),
    ],
    writer: 'field manager last (Update)',
  },
  {
    why: 'one who applies, too',
    managedFields: [wrote('argocd', '2026-01-01T00:00:00Z', taints, { operation: 'Apply' })],
    writer: 'field manager argocd (Apply)',
  },
  {
    why: 'one without a time only for want of any other',
    managedFields: [wrote('old', undefined, taints), wrote('new', '2026-01-01T00:00:00Z', taints)],
    writer: 'field manager new (Update)',
  },
  { why: 'nobody where nobody has a name', managedFields: [wrote(undefined, undefined, taints)], writer: undefined },
  {
    why: 'nobody where the fields are not told',
    managedFields: [{ manager: 'kubectl' }, wrote('kubectl', undefined, { 'f:spec': null })],
    writer: undefined,
  },
  { why: 'nobody where the object names no managers', managedFields: undefined, writer: undefined },
])('is $why', ({ managedFields, writer }) => {
  expect(writerOf({ metadata: { name: 'n1', managedFields } }, TAINTS)).toBe(writer);
});
