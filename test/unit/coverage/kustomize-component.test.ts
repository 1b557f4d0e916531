import { describe, expect, it } from 'vitest';
import { kustomizeComponent } from '../../../src/coverage/kustomize-component.ts';
import { need, WHOLE, whyOf } from './needs.ts';

describe('a component of Kustomize', () => {
  it('has a patch for each DaemonSet, by its name as a regular expression', () => {
    const { remedies, left } = kustomizeComponent(
      [need('a.b'), need('operand', { controller: { kind: 'Prometheus', name: 'k8s' } })],
      JSON.stringify,
    );
    expect(remedies[0]?.patches).toEqual([
      {
        target: { group: 'apps', version: 'v1', kind: 'DaemonSet', name: 'a\\.b' },
        patch: JSON.stringify({
          apiVersion: 'apps/v1',
          kind: 'DaemonSet',
          metadata: { name: 'a.b' },
          spec: { template: { spec: { tolerations: WHOLE } } },
        }),
      },
    ]);
    expect(whyOf({ left })).toEqual({ operand: 'it belongs to Prometheus k8s: it has no manifest of its own' });
  });

  it('distinguishes two with the same name by their namespaces', () => {
    const { remedies } = kustomizeComponent([need('a', { namespace: 'one' }), need('a', { namespace: 'two' })], String);
    expect(remedies[0]?.patches.map(({ target }) => (target as { namespace: string }).namespace)).toEqual([
      'one',
      'two',
    ]);
  });
});
