import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fixGaps } from '../../../src/coverage/gap-fix.ts';
import { gapsOf } from '../../../src/coverage/gaps.ts';
import type { Workload, WorkloadKind } from '../../../src/coverage/workload.ts';
import { NEW_ROLE, OLD_ROLE } from '../../../src/kubernetes/roles.ts';
import type { Taint } from '../../../src/kubernetes/taint.ts';
import type { Toleration } from '../../../src/kubernetes/toleration.ts';
import { parsePolicy } from '../../../src/policy/policy.ts';
import { withChange } from '../../../src/role-migration/migration-change.ts';
import { migrationCommands } from '../../../src/role-migration/migration-commands.ts';
import type { MigrationFacts } from '../../../src/role-migration/migration-facts.ts';
import { planMigration } from '../../../src/role-migration/migration-plan.ts';
import { compileCoverage, type SchedulingNode, type SchedulingView } from '../../../src/scheduling/coverage.ts';
import { manifest } from '../policy/policies.ts';
import { affine, CONTROL_PLANE, daemonSet, MASTER, NOT_READY, node } from '../scheduling/scheduling.ts';

const OLD_LABEL = { [OLD_ROLE]: '' };
const BOTH_LABELS = { [OLD_ROLE]: '', [NEW_ROLE]: '' };
const TOLERATES_OLD: Toleration = { key: OLD_ROLE, operator: 'Exists', effect: 'NoSchedule' };
const TOLERATES_NEW: Toleration = { key: NEW_ROLE, operator: 'Exists', effect: 'NoSchedule' };

const workload = (name: string, given: Partial<SchedulingView> = {}, kind: WorkloadKind = 'DaemonSet'): Workload => ({
  ...daemonSet(name, given),
  kind,
  managedBy: undefined,
});

const GPU_TEXT = 'dedicated=gpu:NoSchedule';
const noExecute = (taint: Taint): Taint => ({ ...taint, effect: 'NoExecute' });

const policy = (kind: string, name: string, spec: object) => {
  const result = parsePolicy(manifest(kind, name, spec));
  if (!result.ok) throw new Error(JSON.stringify(result.problems));
  return result.policy;
};

/** As `taintkeeper talos policies` writes it. */
const CONTROL_PLANES = policy('TaintPolicy', 'control-planes', {
  mode: 'Restore',
  nodeSelector: { matchExpressions: [{ key: NEW_ROLE, operator: 'Exists' }] },
  taints: [{ key: NEW_ROLE, effect: 'NoSchedule', ensure: 'Always' }],
});

/** The commands, and after `by hand: ` what is left to a person, of each step that is not done; by the number of the step. */
function left(facts: Partial<MigrationFacts>): Record<number, string[]> {
  const steps = planMigration({ nodes: [], workloads: [], policies: [], unreadPolicies: [], ...facts });
  const open = steps.map(({ changes, byHand }, index): [number, string[]] => [
    index + 1,
    [...migrationCommands(changes), ...byHand.map((line) => `by hand: ${line}`)],
  ]);
  return Object.fromEntries(open.filter(([, lines]) => lines.length > 0));
}

const patchOf = (target: string, operations: readonly object[]) =>
  `kubectl patch ${target} --type=json -p '${JSON.stringify(operations)}'`;

/** A node that a DaemonSet does not run on, and what `coverage fix` writes about it. */
const FIX = (() => {
  const nodes = [node('m', [MASTER])];
  const { policies } = fixGaps(gapsOf({ daemonSets: [{ ...daemonSet('a'), annotations: {}, labels: {} }], nodes }), [
    OLD_ROLE,
  ]);
  const [{ metadata: { name = '' } = {}, spec = {} } = {}] = policies;
  return { nodes, name, policies: [policy('TolerationPolicy', name, spec)] };
})();

const patch = (operations: string) =>
  `kubectl patch -n kube-system daemonset a --type=json -p '${operations.replaceAll(/\s*\n\s*/g, '')}'`;

describe('the remaining steps', () => {
  it.each<{ why: string; facts: Partial<MigrationFacts>; expected: Record<number, string[]> }>([
    {
      why: 'nothing where nothing is old',
      facts: { nodes: [node('n', [CONTROL_PLANE], { [NEW_ROLE]: '' })] },
      expected: {},
    },
    {
      why: 'all of it for nodes that know the old role only',
      facts: {
        nodes: [node('m1', [MASTER], OLD_LABEL), node('m2', [MASTER], OLD_LABEL), node('w')],
        workloads: [workload('a', { tolerations: [TOLERATES_OLD], nodeSelector: OLD_LABEL })],
      },
      expected: {
        1: ['kubectl label node m1 m2 node-role.kubernetes.io/control-plane='],
        2: [
          patch(`[
            {"op":"add","path":"/spec/template/spec/tolerations/-",
              "value":{"key":"node-role.kubernetes.io/control-plane","operator":"Exists","effect":"NoSchedule"}},
            {"op":"test","path":"/spec/template/spec/nodeSelector/node-role.kubernetes.io~1master","value":""},
            {"op":"remove","path":"/spec/template/spec/nodeSelector/node-role.kubernetes.io~1master"},
            {"op":"add","path":"/spec/template/spec/nodeSelector/node-role.kubernetes.io~1control-plane","value":""}
          ]`),
        ],
        3: ['kubectl taint node m1 m2 node-role.kubernetes.io/control-plane:NoSchedule'],
        5: ['kubectl taint node m1 m2 node-role.kubernetes.io/master:NoSchedule-'],
        6: ['kubectl label node m1 m2 node-role.kubernetes.io/master-'],
      },
    },
    {
      why: 'taints keep their value and effect',
      facts: { nodes: [node('m', [{ ...MASTER, value: 'true', effect: 'NoExecute' }])] },
      expected: {
        3: ['kubectl taint node m node-role.kubernetes.io/control-plane=true:NoExecute'],
        5: ['kubectl taint node m node-role.kubernetes.io/master:NoExecute-'],
      },
    },
    {
      why: 'a node that carries both loses the old one',
      facts: { nodes: [node('m', [MASTER, CONTROL_PLANE], BOTH_LABELS)] },
      expected: {
        5: ['kubectl taint node m node-role.kubernetes.io/master:NoSchedule-'],
        6: ['kubectl label node m node-role.kubernetes.io/master-'],
      },
    },
    {
      why: 'who tolerates the new taint only, and is kept off by the old one',
      facts: {
        nodes: [node('m', [MASTER, CONTROL_PLANE], { [NEW_ROLE]: '' })],
        workloads: [workload('a', { tolerations: [TOLERATES_NEW] })],
      },
      expected: {
        2: [
          patch(`[{"op":"add","path":"/spec/template/spec/tolerations/-",
            "value":{"key":"node-role.kubernetes.io/master","operator":"Exists","effect":"NoSchedule"}}]`),
        ],
        5: ['kubectl taint node m node-role.kubernetes.io/master:NoSchedule-'],
      },
    },
    {
      why: 'nothing for who tolerates the new taint only, when no node carries the old one',
      facts: {
        nodes: [node('c', [CONTROL_PLANE], { [NEW_ROLE]: '' })],
        workloads: [workload('a', { tolerations: [TOLERATES_NEW] })],
      },
      expected: {},
    },
    {
      why: 'nor for a workload that does not select that node',
      facts: {
        nodes: [node('m', [MASTER, CONTROL_PLANE], { [NEW_ROLE]: '' })],
        workloads: [workload('a', { tolerations: [TOLERATES_NEW], nodeSelector: { pool: 'gpu' } })],
      },
      expected: { 5: ['kubectl taint node m node-role.kubernetes.io/master:NoSchedule-'] },
    },
    {
      why: 'who tolerates the old taint only, even when no node carries any',
      facts: { nodes: [node('w')], workloads: [workload('a', { tolerations: [TOLERATES_OLD] })] },
      expected: {
        2: [
          patch(`[{"op":"add","path":"/spec/template/spec/tolerations/-",
            "value":{"key":"node-role.kubernetes.io/control-plane","operator":"Exists","effect":"NoSchedule"}}]`),
        ],
      },
    },
    {
      why: 'affinities, in their place, of CronJobs in theirs',
      facts: {
        nodes: [node('m', [], BOTH_LABELS)],
        workloads: [
          workload(
            'a b',
            affine(
              { key: 'zone', operator: 'DoesNotExist', values: [] },
              { key: OLD_ROLE, operator: 'Exists', values: [] },
            ),
            'CronJob',
          ),
        ],
      },
      expected: {
        2: [
          `kubectl patch -n kube-system cronjob 'a b' --type=json -p '${[
            '[{"op":"test","path":"/spec/jobTemplate/spec/template/spec/affinity/nodeAffinity/',
            'requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms/0/matchExpressions/1/key",',
            '"value":"node-role.kubernetes.io/master"},',
            '{"op":"replace","path":"/spec/jobTemplate/spec/template/spec/affinity/nodeAffinity/',
            'requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms/0/matchExpressions/1/key",',
            '"value":"node-role.kubernetes.io/control-plane"}]',
          ].join('')}'`,
        ],
        6: ['kubectl label node m node-role.kubernetes.io/master-'],
      },
    },
    {
      why: 'who would lose a node is left to a person, and the label that it needs stays',
      facts: {
        nodes: [node('m', [], { [OLD_ROLE]: 'true', [NEW_ROLE]: '' })],
        workloads: [workload('a', { nodeSelector: { [OLD_ROLE]: 'true' } })],
      },
      expected: {
        2: [
          'by hand: DaemonSet kube-system/a selects nodes by the old label. By the new one, it would not run on m: change its template',
        ],
        6: ['by hand: removing the old label from m would keep DaemonSet kube-system/a off this node'],
      },
    },
    {
      why: 'also while the node is not ready',
      facts: {
        nodes: [node('m', [NOT_READY], { [OLD_ROLE]: 'true', [NEW_ROLE]: '' })],
        workloads: [workload('a', { nodeSelector: { [OLD_ROLE]: 'true' } })],
      },
      expected: expect.objectContaining({
        6: ['by hand: removing the old label from m would keep DaemonSet kube-system/a off this node'],
      }) as Record<number, string[]>,
    },
    {
      why: 'a daemon that shuns the new label keeps it off its node',
      facts: {
        nodes: [node('m', [], OLD_LABEL)],
        workloads: [workload('a', affine({ key: NEW_ROLE, operator: 'DoesNotExist', values: [] }))],
      },
      expected: {
        1: ['by hand: adding the new label to m would keep DaemonSet kube-system/a off this node'],
        6: ['by hand: node m does not have the new label yet: add that first, then remove the old one'],
      },
    },
    {
      why: 'where a policy protects the old taint, its removal is allowed first',
      facts: {
        nodes: [node('m', [MASTER, CONTROL_PLANE])],
        policies: [
          policy('TaintPolicy', 'p', {
            mode: 'Deny',
            taints: [{ key: OLD_ROLE }, { key: NEW_ROLE }],
          }),
        ],
      },
      expected: {
        5: [
          'kubectl annotate --overwrite node m taintkeeper.dev/allow-removal=node-role.kubernetes.io/master:NoSchedule',
          'kubectl taint node m node-role.kubernetes.io/master:NoSchedule-',
        ],
      },
    },
    {
      why: 'the entries of a node stay, also the first one of two that the plan adds',
      facts: {
        nodes: [
          { ...node('a', [MASTER, CONTROL_PLANE]), allowRemoval: `${GPU_TEXT}, other` },
          {
            ...node('b', [MASTER, CONTROL_PLANE, noExecute(MASTER), noExecute(CONTROL_PLANE)]),
            allowRemoval: `${OLD_ROLE}:NoSchedule`,
          },
        ],
        policies: [policy('TaintPolicy', 'p', { mode: 'Deny', taints: [{ key: OLD_ROLE }, { key: NEW_ROLE }] })],
      },
      expected: {
        5: [
          `kubectl annotate --overwrite node a taintkeeper.dev/allow-removal=${GPU_TEXT},${OLD_ROLE}:NoSchedule`,
          `kubectl taint node a ${OLD_ROLE}:NoSchedule-`,
          `kubectl annotate --overwrite node b taintkeeper.dev/allow-removal=${OLD_ROLE}:NoSchedule`,
          `kubectl taint node b ${OLD_ROLE}:NoSchedule-`,
          `kubectl annotate --overwrite node b taintkeeper.dev/allow-removal=${OLD_ROLE}:NoSchedule,${OLD_ROLE}:NoExecute`,
          `kubectl taint node b ${OLD_ROLE}:NoExecute-`,
        ],
      },
    },
    {
      why: 'where a policy keeps it on the node, the policy comes first',
      facts: {
        nodes: [node('m', [MASTER, CONTROL_PLANE])],
        policies: [
          policy('TaintPolicy', 'p', {
            mode: 'Restore',
            taints: [{ key: OLD_ROLE, effect: 'NoSchedule', ensure: 'Always' }],
          }),
        ],
      },
      expected: {
        4: [`by hand: TaintPolicy p requires the old taint, and would set it again: require ${NEW_ROLE} instead`],
        5: [
          'by hand: node m: TaintPolicy p keeps node-role.kubernetes.io/master:NoSchedule on the node: change the policy first',
        ],
      },
    },
    {
      why: 'a policy keeps its nodes: those with the old label, and those without',
      facts: {
        nodes: [node('m', [CONTROL_PLANE], BOTH_LABELS)],
        policies: [
          policy('TaintPolicy', 'masters', {
            mode: 'Deny',
            nodeSelector: { matchLabels: OLD_LABEL },
            taints: [{ key: NEW_ROLE }],
          }),
          policy('TaintPolicy', 'others', {
            mode: 'Restore',
            nodeSelector: { matchExpressions: [{ key: OLD_ROLE, operator: 'DoesNotExist' }] },
            taints: [{ key: 'pool', effect: 'NoSchedule', ensure: 'Always' }],
          }),
        ],
      },
      expected: {
        4: [
          `by hand: TaintPolicy masters selects nodes by the old label: change spec.nodeSelector to ${NEW_ROLE}`,
          `by hand: TaintPolicy others selects nodes by the old label: change spec.nodeSelector to ${NEW_ROLE}`,
        ],
        6: [
          'by hand: removing the old label from m would end its selection by TaintPolicy masters: change the policy first',
          'by hand: removing the old label from m would have TaintPolicy others select it: change the policy first',
        ],
      },
    },
    {
      why: 'the new label waits, where it brings a taint that a daemon does not tolerate yet',
      facts: {
        nodes: [node('m', [MASTER], OLD_LABEL)],
        workloads: [workload('a', { tolerations: [TOLERATES_OLD] })],
        policies: [CONTROL_PLANES],
      },
      expected: {
        1: [
          'by hand: adding the new label to m, with the taints of TaintPolicy control-planes, would keep DaemonSet kube-system/a off this node: do the other steps first, and run the command again',
        ],
        2: [
          patch(`[{"op":"add","path":"/spec/template/spec/tolerations/-",
            "value":{"key":"node-role.kubernetes.io/control-plane","operator":"Exists","effect":"NoSchedule"}}]`),
        ],
        3: ['kubectl taint node m node-role.kubernetes.io/control-plane:NoSchedule'],
        5: ['kubectl taint node m node-role.kubernetes.io/master:NoSchedule-'],
        6: ['by hand: node m does not have the new label yet: add that first, then remove the old one'],
      },
    },
    {
      why: 'what the new label brings by itself is not set again',
      facts: { nodes: [node('m', [MASTER], OLD_LABEL)], policies: [CONTROL_PLANES] },
      expected: {
        1: ['kubectl label node m node-role.kubernetes.io/control-plane='],
        5: ['kubectl taint node m node-role.kubernetes.io/master:NoSchedule-'],
        6: ['kubectl label node m node-role.kubernetes.io/master-'],
      },
    },
    {
      why: 'policies that name only the old taint',
      facts: {
        policies: [
          policy('TaintPolicy', 'p', { mode: 'Audit', taints: [{ key: OLD_ROLE }] }),
          policy('TaintPolicy', 'all', {
            mode: 'Audit',
            taints: [{ key: 'node-role.kubernetes.io/*' }],
          }),
          policy('TolerationPolicy', 't', {
            mode: 'Audit',
            daemonSets: { namespaces: ['a'] },
            tolerations: [TOLERATES_OLD],
          }),
          policy('TolerationPolicy', 'default', { mode: 'Audit', daemonSets: { namespaces: ['a'] } }),
        ],
      },
      expected: {
        4: [
          `kubectl patch taintpolicy p --type=json -p '[{"op":"add","path":"/spec/taints/-","value":{"key":"${NEW_ROLE}"}}]'`,
          patchOf('tolerationpolicy t', [{ op: 'add', path: '/spec/tolerations/-', value: TOLERATES_NEW }]),
        ],
      },
    },
    {
      why: 'a taint that is tolerated for some seconds: its counterpart for as many',
      facts: {
        nodes: [node('m', [noExecute(MASTER), noExecute(CONTROL_PLANE)])],
        workloads: [
          workload('a', { tolerations: [{ ...TOLERATES_OLD, effect: 'NoExecute', tolerationSeconds: 300 }] }),
        ],
      },
      expected: {
        2: [
          patch(`[
            {"op":"add","path":"/spec/template/spec/tolerations/-",
              "value":{"key":"node-role.kubernetes.io/control-plane","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}}]`),
        ],
        5: [`kubectl taint node m ${OLD_ROLE}:NoExecute-`],
      },
    },
    {
      why: 'a new taint that a workload tolerates for a shorter time than the old one: it would evict its pods',
      facts: {
        nodes: [node('m', [noExecute(MASTER)])],
        workloads: [
          workload('a', {
            tolerations: [
              { ...TOLERATES_OLD, effect: 'NoExecute' },
              { ...TOLERATES_NEW, effect: 'NoExecute', tolerationSeconds: 30 },
            ],
          }),
        ],
      },
      expected: {
        3: [
          'by hand: adding the new taint to m would evict the pods of DaemonSet kube-system/a after 30 s: have it tolerate the new taint for as long as the old one',
        ],
        5: [`by hand: node m does not carry the new taint yet: add that first, then remove ${OLD_ROLE}:NoExecute`],
      },
    },
    {
      why: 'what coverage fix wrote',
      facts: { nodes: FIX.nodes, policies: FIX.policies },
      expected: {
        3: [`kubectl taint node m ${NEW_ROLE}:NoSchedule`],
        4: [
          patchOf(`tolerationpolicy ${FIX.name}`, [{ op: 'add', path: '/spec/tolerations/-', value: TOLERATES_NEW }]),
        ],
        5: [`kubectl taint node m ${OLD_ROLE}:NoSchedule-`],
      },
    },
    {
      why: 'a policy with as many tolerations as it may have is left to a person',
      facts: {
        policies: [
          policy('TolerationPolicy', 't', {
            mode: 'Audit',
            daemonSets: { namespaces: ['a'] },
            tolerations: [TOLERATES_OLD, ...Array.from({ length: 63 }, (_, i) => ({ ...TOLERATES_OLD, key: `k${i}` }))],
          }),
        ],
      },
      expected: {
        4: [
          `by hand: TolerationPolicy t requires a toleration of the old taint, and has as many tolerations as a policy may have: add a policy for ${NEW_ROLE}`,
        ],
      },
    },
  ])('$why', ({ facts, expected }) => {
    expect(left(facts)).toEqual(expected);
  });

  const isMeant = (index: number, key: string) => ({ op: 'test', path: `/spec/taints/${index}/key`, value: key });
  const except = (op: string, value: readonly string[]) => ({ op, path: '/spec/taints/0/except', value });
  it.each([
    {
      what: 'rules for either: the old one goes',
      taints: [{ key: 'a' }, { key: OLD_ROLE }, { key: NEW_ROLE }],
      operations: [isMeant(1, OLD_ROLE), { op: 'remove', path: '/spec/taints/1' }],
    },
    {
      what: 'rules for the old one: they become those of the new one',
      taints: [
        { key: OLD_ROLE, effect: 'NoSchedule' },
        { key: OLD_ROLE, effect: 'NoExecute' },
      ],
      operations: [
        isMeant(1, OLD_ROLE),
        { op: 'replace', path: '/spec/taints/1/key', value: NEW_ROLE },
        isMeant(0, OLD_ROLE),
        { op: 'replace', path: '/spec/taints/0/key', value: NEW_ROLE },
      ],
    },
    {
      what: 'a pattern that covers both: it leaves the old one out',
      taints: [{ key: 'node-role.kubernetes.io/*' }],
      operations: [isMeant(0, 'node-role.kubernetes.io/*'), except('add', [OLD_ROLE])],
    },
    {
      what: 'a pattern that leaves others out, and a rule',
      taints: [{ key: 'node-role.kubernetes.io/*', except: ['node-role.kubernetes.io/a'] }, { key: OLD_ROLE }],
      operations: [
        isMeant(1, OLD_ROLE),
        { op: 'remove', path: '/spec/taints/1' },
        isMeant(0, 'node-role.kubernetes.io/*'),
        except('replace', ['node-role.kubernetes.io/a', OLD_ROLE]),
      ],
    },
  ])('of a policy that releases nothing, $what', ({ taints, operations }) => {
    const never = policy('TaintPolicy', 'p', { mode: 'Deny', removalByAnnotation: 'Forbidden', taints });
    expect(left({ nodes: [node('m', [MASTER, CONTROL_PLANE])], policies: [never] })).toEqual({
      4: [patchOf('taintpolicy p', operations)],
      5: [`kubectl taint node m ${OLD_ROLE}:NoSchedule-`],
    });
  });

  it('a policy with removalByAnnotation: Forbidden stops protecting the old taint after the steps that add the new one', () => {
    const never = policy('TaintPolicy', 'p', {
      mode: 'Deny',
      removalByAnnotation: 'Forbidden',
      taints: [{ key: OLD_ROLE }, { key: NEW_ROLE }],
    });
    const plan = left({ nodes: [node('m', [MASTER]), node('n', [MASTER, CONTROL_PLANE])], policies: [never] });
    expect(plan[3]).toEqual([`kubectl taint node m ${NEW_ROLE}:NoSchedule`]);
    expect(plan[4]).toHaveLength(1);
    expect(plan[5]).toEqual([`kubectl taint node m n ${OLD_ROLE}:NoSchedule-`]);
  });

  const OLD_GPU = { key: OLD_ROLE, value: 'gpu' };
  const startup = (key: string, value?: string) => ({
    key,
    ...(value === undefined ? {} : { value }),
    effect: 'NoSchedule',
    ensure: 'AtRegistration',
  });
  it.each<{ why: string; taints: object[]; added: object[] }>([
    {
      why: 'one effect of the new key does not cover a rule for every effect',
      taints: [{ key: OLD_ROLE }, { key: NEW_ROLE, effect: 'NoSchedule' }],
      added: [{ key: NEW_ROLE }],
    },
    {
      why: 'nor do two of the three effects',
      taints: [
        { key: OLD_ROLE },
        { key: NEW_ROLE, effect: 'NoSchedule' },
        { key: NEW_ROLE, effect: 'PreferNoSchedule' },
      ],
      added: [{ key: NEW_ROLE }],
    },
    {
      why: 'three rules cover it together',
      taints: [
        { key: OLD_ROLE },
        { key: NEW_ROLE, effect: 'NoSchedule' },
        { key: NEW_ROLE, effect: 'PreferNoSchedule' },
        { key: NEW_ROLE, effect: 'NoExecute' },
      ],
      added: [],
    },
    {
      why: 'the new taint without a value does not cover a rule for any value',
      taints: [
        { key: OLD_ROLE, effect: 'NoSchedule' },
        { key: NEW_ROLE, value: '', effect: 'NoSchedule' },
      ],
      added: [{ key: NEW_ROLE, effect: 'NoSchedule' }],
    },
    {
      why: 'a rule for any value covers one for a value',
      taints: [OLD_GPU, { key: NEW_ROLE }],
      added: [],
    },
    {
      why: 'a value counts only with the effect of the rule',
      taints: [OLD_GPU, { key: NEW_ROLE, value: 'gpu', effect: 'NoSchedule' }],
      added: [{ key: NEW_ROLE, value: 'gpu' }],
    },
    {
      why: 'a domain covers each effect and value',
      taints: [{ key: OLD_ROLE }, { key: 'node-role.kubernetes.io/*' }],
      added: [],
    },
    {
      why: 'a domain covers what is not excepted only',
      taints: [{ key: OLD_ROLE }, { key: 'node-role.kubernetes.io/*', except: [NEW_ROLE] }],
      added: [{ key: NEW_ROLE }],
    },
    {
      why: 'a startup taint that is protected would stay on new nodes',
      taints: [startup(OLD_ROLE), { key: NEW_ROLE }],
      added: [],
    },
    {
      why: 'a startup taint would end the protection by a domain',
      taints: [startup(OLD_ROLE), { key: 'node-role.kubernetes.io/*' }],
      added: [],
    },
    {
      why: 'a startup taint is added once',
      taints: [startup(OLD_ROLE), startup(NEW_ROLE)],
      added: [],
    },
    {
      why: 'of two values, a node can have one, and the API server would refuse a second rule',
      taints: [startup(OLD_ROLE, 'a'), startup(NEW_ROLE, 'b')],
      added: [],
    },
    {
      why: 'a startup taint protects nothing',
      taints: [{ key: OLD_ROLE, effect: 'NoSchedule' }, startup(NEW_ROLE)],
      added: [{ key: NEW_ROLE, effect: 'NoSchedule' }],
    },
  ])('a TaintPolicy names the new taint wherever it names the old one: $why', ({ taints, added }) => {
    const partly = policy('TaintPolicy', 'p', { mode: 'Deny', taints });
    const patch = patchOf(
      'taintpolicy p',
      added.map((value) => ({ op: 'add', path: '/spec/taints/-', value })),
    );
    expect(left({ policies: [partly] })).toEqual(added.length > 0 ? { 4: [patch] } : {});
  });

  it('a TaintPolicy with the maximum number of rules is left to a user', () => {
    const others = Array.from({ length: 63 }, (_, index) => ({ key: `k${index}` }));
    const full = policy('TaintPolicy', 'p', { mode: 'Deny', taints: [{ key: OLD_ROLE }, ...others] });
    expect(left({ policies: [full] })).toEqual({
      4: [
        `by hand: TaintPolicy p names the old taint, and has as many rules as a policy may have: add a policy for ${NEW_ROLE}`,
      ],
    });
  });

  const tolerating = (key: string | undefined, effect?: string, rest: object = { operator: 'Exists' }) => ({
    ...(key === undefined ? {} : { key }),
    ...rest,
    ...(effect === undefined ? {} : { effect }),
  });
  it.each<{ why: string; tolerations: object[]; added: object[] }>([
    {
      why: 'one effect of the new key does not cover every effect',
      tolerations: [tolerating(OLD_ROLE), tolerating(NEW_ROLE, 'NoSchedule')],
      added: [tolerating(NEW_ROLE)],
    },
    {
      why: 'both effects that keep pods off do',
      tolerations: [tolerating(OLD_ROLE), tolerating(NEW_ROLE, 'NoSchedule'), tolerating(NEW_ROLE, 'NoExecute')],
      added: [],
    },
    {
      why: 'another effect of the new key covers nothing',
      tolerations: [tolerating(OLD_ROLE, 'NoExecute'), tolerating(NEW_ROLE, 'NoSchedule')],
      added: [tolerating(NEW_ROLE, 'NoExecute')],
    },
    {
      why: 'a toleration of every key covers its effect only',
      tolerations: [tolerating(OLD_ROLE), tolerating(undefined, 'NoSchedule')],
      added: [tolerating(NEW_ROLE)],
    },
    {
      why: 'a toleration of every taint covers all',
      tolerations: [tolerating(OLD_ROLE), tolerating(undefined)],
      added: [],
    },
    {
      why: 'another value covers nothing',
      tolerations: [
        tolerating(OLD_ROLE, 'NoSchedule', { operator: 'Equal', value: 'a' }),
        tolerating(NEW_ROLE, 'NoSchedule', { operator: 'Equal', value: 'b' }),
      ],
      added: [tolerating(NEW_ROLE, 'NoSchedule', { operator: 'Equal', value: 'a' })],
    },
  ])('a TolerationPolicy names the new taint wherever it names the old one: $why', ({ tolerations, added }) => {
    const partly = policy('TolerationPolicy', 't', { mode: 'Audit', daemonSets: { namespaces: ['a'] }, tolerations });
    const patch = patchOf(
      'tolerationpolicy t',
      added.map((value) => ({ op: 'add', path: '/spec/tolerations/-', value })),
    );
    expect(left({ policies: [partly] })).toEqual(added.length > 0 ? { 4: [patch] } : {});
  });

  it.each<{ why: string; taints: object[]; missing: string | undefined }>([
    { why: 'all of it is missing', taints: [{ key: OLD_ROLE }], missing: `[{"key":"${NEW_ROLE}"}]` },
    {
      why: 'one effect does not cover every effect',
      taints: [{ key: OLD_ROLE }, { key: NEW_ROLE, effect: 'NoSchedule' }],
      missing: `[{"key":"${NEW_ROLE}"}]`,
    },
    {
      why: 'one value does not cover any value',
      taints: [{ key: OLD_ROLE }, { key: NEW_ROLE, value: 'gpu' }],
      missing: `[{"key":"${NEW_ROLE}"}]`,
    },
    { why: 'any value and effect covers each', taints: [OLD_GPU, { key: NEW_ROLE }], missing: undefined },
  ])('a TolerationRestriction names the new taint wherever it names the old one: $why', ({ taints, missing }) => {
    const line = `by hand: TolerationRestriction r restricts the old taint and not the new one: add ${missing} to spec.taints, and ${NEW_ROLE} to the ClusterRoles that allow the verb tolerate on ${OLD_ROLE}`;
    expect(left({ policies: [policy('TolerationRestriction', 'r', { mode: 'Deny', taints })] })).toEqual(
      missing === undefined ? {} : { 4: [line] },
    );
  });

  it('names from objects are quoted for the shell', () => {
    const [command] = left({ nodes: [node("$(reboot)'", [], OLD_LABEL)] })[1] ?? [];
    expect(command).toBe(`kubectl label node '$(reboot)'\\''' ${NEW_ROLE}=`);
  });
});

describe('followed step by step', () => {
  const taint = fc.record<Taint>(
    {
      key: fc.constantFrom(OLD_ROLE, OLD_ROLE, NEW_ROLE, 'dedicated', NOT_READY.key),
      value: fc.constantFrom('', 'true'),
      effect: fc.constantFrom('NoSchedule', 'NoSchedule', 'NoExecute', 'PreferNoSchedule'),
    },
    { requiredKeys: ['key', 'effect'] },
  );
  const taints = fc.uniqueArray(taint, { maxLength: 3, selector: ({ key, effect }) => `${key}:${effect}` });
  const label = fc.constantFrom('', '', 'true');
  const labels = fc.record({ [OLD_ROLE]: label, [NEW_ROLE]: label, pool: fc.constant('a') }, { requiredKeys: [] });
  const nodes = fc
    .array(fc.record({ taints, labels }), { minLength: 1, maxLength: 5 })
    .map((states) => states.map((state, index): SchedulingNode => ({ name: `n${index}`, ...state })));
  const toleration = fc.oneof(
    {
      weight: 3,
      arbitrary: fc.record<Toleration>(
        {
          key: fc.constantFrom(OLD_ROLE, OLD_ROLE, NEW_ROLE, ''),
          operator: fc.constantFrom('Exists', 'Exists', 'Equal'),
          value: fc.constantFrom('', 'true'),
          effect: fc.constantFrom('NoSchedule', ''),
        },
        { requiredKeys: ['key', 'operator'] },
      ),
    },
    {
      weight: 1,
      arbitrary: fc.record<Toleration>({
        key: fc.constantFrom(OLD_ROLE, NEW_ROLE),
        operator: fc.constant('Exists'),
        effect: fc.constant('NoExecute'),
        tolerationSeconds: fc.constantFrom(30, 300, undefined),
      }),
    },
  );
  const requirement = (operators: readonly string[]) =>
    fc.record({ key: fc.constantFrom(OLD_ROLE, NEW_ROLE), operator: fc.constantFrom(...operators) }).map((term) => ({
      ...term,
      values: ['In', 'NotIn'].includes(term.operator) ? ['true'] : [],
    }));
  const workloads = (operators: readonly string[]) =>
    fc
      .array(
        fc.record({
          kind: fc.constantFrom('DaemonSet' as const, 'Deployment' as const),
          tolerations: fc.array(toleration, { maxLength: 2 }),
          nodeSelector: fc.constantFrom<Record<string, string>>({}, {}, OLD_LABEL, { [NEW_ROLE]: '' }, { pool: 'a' }),
          nodeAffinity: fc.option(
            fc.array(
              fc.record({
                matchExpressions: fc.array(requirement(operators), { maxLength: 2 }),
                matchFields: fc.constant([]),
              }),
              { maxLength: 2 },
            ),
            { nil: undefined },
          ),
        }),
        { minLength: 1, maxLength: 4 },
      )
      .map((specs) => specs.map(({ kind, ...spec }, index) => workload(`d${index}`, spec, kind)));

  /** For each workload, the nodes on which it runs, and for how many seconds. */
  const staysOf = ({ nodes, workloads }: MigrationFacts): Map<string, Map<string, number>> =>
    new Map(
      workloads.map((each) => {
        const coverageOn = compileCoverage(each);
        const stays = nodes.flatMap((node): [string, number][] => {
          const coverage = coverageOn(node);
          if (!coverage.runs) return [];
          return [[node.name, Math.min(...(coverage.evictions ?? []).map(({ seconds }) => seconds))]];
        });
        return [each.name, new Map(stays)];
      }),
    );

  it('no workload ever loses a node on which it could run, or is evicted from it earlier, not even one that is not ready now', () => {
    fc.assert(
      fc.property(nodes, workloads(['Exists', 'In', 'DoesNotExist', 'NotIn']), (nodes, workloads) => {
        const facts: MigrationFacts = { nodes, workloads, policies: [], unreadPolicies: [] };
        const recovered = (facts: MigrationFacts): MigrationFacts => ({
          ...facts,
          nodes: facts.nodes.map((each) => ({
            ...each,
            taints: each.taints.filter(({ key }) => key !== NOT_READY.key),
          })),
        });
        let now = facts;
        const before = [staysOf(facts), staysOf(recovered(facts))];
        for (const change of planMigration(facts).flatMap(({ changes }) => changes)) {
          now = withChange(now, change);
          const after = [staysOf(now), staysOf(recovered(now))];
          for (const [moment, places] of before.entries()) {
            for (const [name, had] of places) {
              const has = after[moment]?.get(name);
              expect([...had].filter(([node, seconds]) => (has?.get(node) ?? 0) < seconds)).toEqual([]);
            }
          }
        }
      }),
      { numRuns: 500 },
    );
  });

  it('ends without remaining steps and without the old role, unless a user has to decide', () => {
    let complete = 0;
    fc.assert(
      fc.property(nodes, workloads(['Exists', 'In']), (nodes, workloads) => {
        const facts: MigrationFacts = { nodes, workloads, policies: [], unreadPolicies: [] };
        const steps = planMigration(facts);
        const done = steps.flatMap(({ changes }) => changes).reduce(withChange, facts);
        const again = planMigration(done);
        expect(again.flatMap(({ changes }) => changes)).toEqual([]);
        const decisions = (plan: typeof steps) => plan.map(({ byHand }) => byHand.length > 0);
        expect(decisions(again)).toEqual(decisions(steps));
        if (steps.every(({ byHand }) => byHand.length === 0)) {
          complete++;
          const olds = done.nodes.filter(
            ({ taints, labels }) => taints.some(({ key }) => key === OLD_ROLE) || OLD_ROLE in labels,
          );
          expect(olds).toEqual([]);
        }
      }),
      { numRuns: 500 },
    );
    // A plan that leaves everything to a person would pass, too.
    expect(complete).toBeGreaterThan(250);
  });
});
