import { describe, expect, it } from 'vitest';
import { patchCommands } from '../../../src/coverage/patch-commands.ts';
import type { InstalledDaemonSet } from '../../../src/coverage/workload.ts';
import { ADDED, need, OPERATOR, released, WHOLE } from './needs.ts';

describe('a command', () => {
  const commandOf = (given: Partial<InstalledDaemonSet>, name = 'agent') =>
    patchCommands([need(name, given)]).remedies.map(({ command, revertedBy }) => [command, revertedBy]);

  it('adds tolerations at the end, so that none is lost', () => {
    expect(commandOf({})).toEqual([
      [
        `kubectl patch -n kube-system daemonset agent --type=json -p '[{"op":"add","path":"/spec/template/spec/tolerations/-","value":${JSON.stringify(ADDED)}}]'`,
        undefined,
      ],
    ]);
  });

  it('creates a list only if there is none', () => {
    expect(commandOf({ tolerations: [] })[0]?.[0]).toContain(
      `[{"op":"test","path":"/spec/template/spec/tolerations","value":null},{"op":"add","path":"/spec/template/spec/tolerations","value":[${JSON.stringify(ADDED)}]}]`,
    );
  });

  it('for the operator of Calico changes the object that the operator reads', () => {
    const patch = { spec: { calicoNodeDaemonSet: { spec: { template: { spec: { tolerations: WHOLE } } } } } };
    expect(commandOf({ controller: OPERATOR }, 'calico-node')).toEqual([
      [`kubectl patch installation.operator.tigera.io default --type=merge -p '${JSON.stringify(patch)}'`, undefined],
    ]);
  });

  it.each([
    { annotations: released('net'), by: 'Helm, for release net' },
    { labels: { 'app.kubernetes.io/managed-by': 'Flux' }, by: 'Flux' },
  ])('comes with who would revert it: $by', ({ by, ...given }) => {
    expect(commandOf(given)[0]?.[1]).toBe(by);
  });

  it('is not proposed if a controller would revert it', () => {
    const { remedies, left } = patchCommands([need('operand', { controller: { kind: 'Prometheus', name: 'k8s' } })]);
    expect(remedies).toEqual([]);
    expect(left.map(({ why }) => why)).toEqual(['it belongs to Prometheus k8s: its controller would revert a patch']);
  });

  it('quotes names for the shell', () => {
    expect(commandOf({ namespace: '$(reboot)' })[0]?.[0]).toContain("-n '$(reboot)' daemonset");
  });
});
