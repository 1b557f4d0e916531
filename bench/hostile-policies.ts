import type { Policy } from '../src/policy/policy.ts';

/** Policies that make reviews take long: each of them selects every node or every DaemonSet, with patterns and exemptions. Two for each `count`. */
export function hostilePolicies(count: number): Policy[] {
  return Array.from({ length: count }, (_, n): Policy[] => [
    {
      kind: 'TaintPolicy',
      name: `taints-${n}`,
      spec: {
        mode: n % 2 ? 'Deny' : 'Restore',
        nodeSelector: { matchExpressions: [{ key: `left-${n}`, operator: 'DoesNotExist' }] },
        taints: [
          { key: `example.com/team-${n}`, effect: 'NoSchedule', ensure: 'Always', value: 'x' },
          { key: `team-${n}.example.com/*` },
          { key: 'example.com/*', except: ['example.com/spare', `example.com/team-${n + 1}`] },
        ],
        exempt: {
          users: ['system:serviceaccount:*:autoscaler'],
          groups: [`*:admins-${n}`, `*admin-${n}*`, 'operators'],
        },
      },
    },
    {
      kind: 'TolerationPolicy',
      name: `tolerations-${n}`,
      spec: {
        mode: 'Mutate',
        daemonSets: { namespaces: ['*'] },
        tolerations: [
          { key: `example.com/team-${n}`, operator: 'Exists', effect: 'NoExecute' },
          { key: `example.com/pool-${n}`, operator: 'Exists' },
        ],
      },
    },
  ]).flat();
}
