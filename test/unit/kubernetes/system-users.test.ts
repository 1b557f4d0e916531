import { expect, it } from 'vitest';
import { serviceAccountUser } from '../../../src/kubernetes/system-users.ts';

it('names a service account as the API server does', () => {
  expect(serviceAccountUser('team', 'builder')).toBe('system:serviceaccount:team:builder');
});
