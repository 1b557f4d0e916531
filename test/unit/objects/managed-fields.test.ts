import { expect, it } from 'vitest';
import { fieldOwner, type ManagedFields } from '../../../src/objects/managed-fields.ts';

const PATH = ['spec', 'template'];
const entry = (manager: string, fieldsV1: object, more: Partial<ManagedFields> = {}): ManagedFields => ({
  manager,
  operation: 'Update',
  time: '2026-01-01T00:00:00Z',
  fieldsV1,
  ...more,
});
const owning = { 'f:spec': { 'f:template': {} } };
const beside = { 'f:spec': { 'f:other': {} } };

it.each<{ why: string; entries: ManagedFields[]; owner: string | undefined }>([
  { why: 'the one that has the field', entries: [entry('a', beside), entry('b', owning)], owner: 'b' },
  {
    why: 'of two that have it, the later',
    entries: [entry('a', owning, { time: '2026-01-02T00:00:00Z' }), entry('b', owning)],
    owner: 'a',
  },
  { why: 'not taintkeeper', entries: [entry('taintkeeper', owning), entry('a', beside)], owner: undefined },
  { why: 'not a manager that owns a field beside it', entries: [entry('a', beside)], owner: undefined },
  {
    why: 'not a manager that owns another part, or writes the status',
    entries: [entry('a', { 'f:metadata': {} }), entry('b', owning, { subresource: 'status' })],
    owner: undefined,
  },
  { why: 'no manager if no fields are known', entries: [entry('a', {}, { fieldsV1: undefined })], owner: undefined },
])('$why', ({ entries, owner }) => {
  expect(fieldOwner(entries, PATH)?.manager).toBe(owner);
});
