import { describe, expect, it } from 'vitest';
import { driftOf } from '../../../src/talos/drift.ts';
import type { LiveNode } from '../../../src/talos/live-node.ts';
import { declare, machine } from './declarations.ts';
import { live } from './live-nodes.ts';

const ROLE = 'node-role.kubernetes.io/control-plane';
const DEDICATED = { key: 'dedicated', value: 'gpu', effect: 'NoSchedule' };

const gpu = declare(
  'gpu.yaml',
  machine('worker', { nodeLabels: { pool: 'gpu' }, nodeTaints: { dedicated: 'gpu:NoSchedule' } }),
);

const controlPlane = declare(
  'cp.yaml',
  machine('controlplane', { nodeLabels: { pool: 'gpu' }, nodeTaints: { dedicated: 'gpu:NoSchedule' } }),
);

/** Each finding on one line. */
const findings = (node: LiveNode, declaration = gpu) =>
  driftOf(node, declaration).map(({ problem, kind, live, declared, fix, claim }) =>
    [
      ...[problem, kind, live ?? '-', declared ?? '-'],
      ...(fix ? ['| kubectl', ...fix] : []),
      ...Object.entries(claim ?? {}).flatMap(([what, command]) => [`| ${what}: kubectl`, ...command]),
    ].join(' '),
  );

describe('drift of taints', () => {
  it.each<{ what: string; taints: { key: string; value?: string; effect: string }[]; owned?: string; found: string[] }>(
    [
      { what: 'as declared', taints: [DEDICATED], owned: '["dedicated"]', found: [] },
      {
        what: 'as declared, and more that Talos has not set',
        taints: [DEDICATED, { key: 'x', effect: 'NoExecute' }],
        found: [],
      },
      {
        what: 'missing',
        taints: [],
        found: ['missing taint - dedicated=gpu:NoSchedule | kubectl taint node n dedicated=gpu:NoSchedule'],
      },
      {
        what: 'of another value',
        taints: [{ ...DEDICATED, value: 'cpu' }],
        found: [
          'different taint dedicated=cpu:NoSchedule dedicated=gpu:NoSchedule | kubectl taint node n dedicated=gpu:NoSchedule --overwrite',
        ],
      },
      {
        what: 'of another effect',
        taints: [{ ...DEDICATED, effect: 'NoExecute' }],
        found: [
          'different taint dedicated=gpu:NoExecute dedicated=gpu:NoSchedule | kubectl taint node n dedicated=gpu:NoSchedule dedicated:NoExecute-',
        ],
      },
      { what: 'owned, not declared, and gone already', taints: [DEDICATED], owned: '["dedicated","old"]', found: [] },
      {
        what: 'unreadable',
        taints: [DEDICATED],
        owned: 'dedicated',
        found: ['unreadable annotation talos.dev/owned-taints - | kubectl annotate node n talos.dev/owned-taints-'],
      },
      { what: 'null, which Go reads as no list', taints: [DEDICATED], owned: 'null', found: [] },
    ],
  )('$what', ({ taints, owned, found }) => {
    expect(
      findings(live('n', { pool: 'gpu' }, { taints, owned: owned === undefined ? {} : { taints: owned } })),
    ).toEqual(found);
  });

  it('does not include taints that an agent sets and removes', () => {
    const cilium = declare(
      'a.yaml',
      machine('worker', {
        kubelet: { extraArgs: { 'register-with-taints': 'node.cilium.io/agent-not-ready=true:NoExecute' } },
      }),
    );
    expect(findings(live('n'), cilium)).toEqual([]);
  });

  it('knows the taint and the label that Talos gives control planes', () => {
    const bare = live('n', {}, { taints: [] });
    expect(findings(bare, declare('cp.yaml', machine('controlplane')))).toEqual([
      'missing taint - node-role.kubernetes.io/control-plane:NoSchedule | kubectl taint node n node-role.kubernetes.io/control-plane:NoSchedule',
      'missing label - node-role.kubernetes.io/control-plane= | kubectl label node n node-role.kubernetes.io/control-plane=',
    ]);
  });

  it('calls nothing orphaned by a patch, which does not say what else there is', () => {
    const patch = declare('patch.yaml', '{"machine":{"nodeTaints":{"dedicated":"gpu:NoSchedule"}}}');
    const node = live(
      'n',
      {},
      { taints: [DEDICATED, { key: 'old', effect: 'NoSchedule' }], owned: { taints: '["dedicated","old"]' } },
    );
    expect(findings(node, patch)).toEqual([]);
    expect(findings(node, controlPlane)).toContain(
      'orphaned taint old:NoSchedule - | kubectl taint node n old:NoSchedule-',
    );
  });
});

describe('what the annotations of a node say that Talos has set, and its file does not declare,', () => {
  const node = live(
    'n',
    { [ROLE]: '', pool: 'gpu', old: '1', 'node-restriction.kubernetes.io/tenant': 'bank' },
    {
      taints: [
        DEDICATED,
        { key: ROLE, effect: 'NoSchedule' },
        { key: 'quarantine', value: 'yes', effect: 'NoExecute' },
      ],
      owned: {
        taints: JSON.stringify(['dedicated', 'quarantine']),
        labels: JSON.stringify(['old', 'node-restriction.kubernetes.io/tenant']),
      },
    },
  );

  it('is removed from a control plane', () => {
    expect(findings(node, controlPlane)).toEqual([
      'orphaned taint quarantine=yes:NoExecute - | kubectl taint node n quarantine:NoExecute-',
      'orphaned label old=1 - | kubectl label node n old-',
      'orphaned label node-restriction.kubernetes.io/tenant=bank - | kubectl label node n node-restriction.kubernetes.io/tenant-',
    ]);
  });

  it('is only a claim on a worker, whose kubelet may write them, unless the kubelet may set it', () => {
    expect(findings(node)).toEqual([
      'claimed taint quarantine=yes:NoExecute - | removal: kubectl taint node n quarantine:NoExecute- | release: kubectl annotate node n talos.dev/owned-taints-',
      'orphaned label old=1 - | kubectl label node n old-',
      'claimed label node-restriction.kubernetes.io/tenant=bank - | removal: kubectl label node n node-restriction.kubernetes.io/tenant- | release: kubectl annotate node n talos.dev/owned-labels-',
    ]);
  });

  it('is a claim on a worker also where the kubelet registers with it: it is not for Talos to remove, and is released', () => {
    const registering = declare(
      'worker.yaml',
      machine('worker', { kubelet: { extraArgs: { 'register-with-taints': 'dedicated=gpu:NoSchedule' } } }),
    );
    expect(findings(live('n', {}, { taints: [DEDICATED], owned: { taints: '["dedicated"]' } }), registering)).toEqual([
      'claimed taint dedicated=gpu:NoSchedule - | release: kubectl annotate node n talos.dev/owned-taints-',
    ]);
  });
});

describe('drift of labels', () => {
  it.each<{ what: string; labels: Record<string, string>; owned?: string; found: string[] }>([
    { what: 'as declared, and more', labels: { pool: 'gpu', x: 'y' }, found: [] },
    { what: 'missing', labels: {}, found: ['missing label - pool=gpu | kubectl label node n pool=gpu'] },
    {
      what: 'different',
      labels: { pool: 'cpu' },
      found: ['different label pool=cpu pool=gpu | kubectl label node n pool=gpu --overwrite'],
    },
    {
      what: 'orphaned',
      labels: { pool: 'gpu', old: '1' },
      owned: '["old","pool"]',
      found: ['orphaned label old=1 - | kubectl label node n old-'],
    },
    {
      what: 'of a system extension, which no machine configuration declares',
      labels: { pool: 'gpu', 'extensions.talos.dev/iscsi-tools': 'v0.1.6' },
      owned: '["extensions.talos.dev/iscsi-tools","pool"]',
      found: [],
    },
  ])('$what', ({ labels, owned, found }) => {
    const node = live('n', labels, { taints: [DEDICATED], owned: owned === undefined ? {} : { labels: owned } });
    expect(findings(node)).toEqual(found);
  });

  it.each([
    { what: 'an alias', text: 'nodeAnnotations: { rack: &r 0010 }\n  nodeLabels: { rack: *r }' },
    { what: 'a merge key', text: 'nodeAnnotations: &common { rack: 0010 }\n  nodeLabels: { <<: *common }' },
  ])('as declared, a number by $what', ({ text }) => {
    const declaration = declare('f.yaml', `machine:\n  type: worker\n  ${text}\n`);
    expect(findings(live('n', { rack: '0010' }), declaration)).toEqual([]);
    expect(findings(live('n', { rack: '10' }), declaration)).toEqual([
      'different label rack=10 rack=0010 | kubectl label node n rack=0010 --overwrite',
    ]);
  });
});
