import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { type ClusterNode, projectNode } from '../../../src/cluster/objects/cluster-objects.ts';
import { type PolicyObject, viewPolicy } from '../../../src/cluster/policies/policy-object.ts';
import { createExplanations, type ShownExplanation, type ShownSection } from '../../../src/page/explanations.ts';
import type { LeaderSources } from '../../../src/page/page-sources.ts';
import type { PolicyKind } from '../../../src/policy/policy.ts';
import { compilePolicies } from '../../../src/policy/policy-set.ts';
import { absent } from '../cluster/client/absent.ts';
import { pageSources } from './page-sources.ts';

const GPU = { key: 'gpu', effect: 'NoSchedule', ensure: 'Always' };
const EDGE = { key: 'edge', effect: 'NoSchedule' } as const;

const policyOf = (kind: PolicyKind, name: string, spec: object): PolicyObject =>
  viewPolicy(kind, { metadata: { name, uid: name, generation: 1, resourceVersion: '1' }, spec });
const RESTORE = policyOf('TaintPolicy', 'pool', { mode: 'Restore', taints: [GPU] });
const AGENTS = policyOf('TolerationPolicy', 'agents', {
  mode: 'Mutate',
  daemonSets: { namespaces: ['ns'] },
  tolerations: [{ ...EDGE, operator: 'Exists' }],
});

const written = (field: object) => [
  { manager: 'kubectl', operation: 'Update', time: '2026-01-02T03:04:05Z', fieldsV1: field },
];
const node = (name: string, taints: readonly object[] = []) => ({
  metadata: { name, managedFields: written({ 'f:spec': { 'f:taints': {} } }) },
  spec: { taints },
});
const DAEMON_SET = {
  metadata: { namespace: 'ns', name: 'agent', managedFields: written({ 'f:spec': { 'f:template': {} } }) },
  spec: { template: { spec: {} } },
};

interface Given {
  /** By their paths. */
  readonly objects?: Readonly<Record<string, object>>;
  readonly policies?: readonly PolicyObject[];
  /** Known to this replica: it leads. */
  readonly nodes?: readonly ClusterNode[];
  readonly inConflict?: boolean;
  /** What the startup taints of each node wait for. */
  readonly startup?: string;
  readonly audit?: boolean;
  readonly read?: (path: string) => Promise<unknown>;
  /** The time by the API server's clock. */
  readonly now?: Date;
}

function explaining({
  objects = {},
  policies = [],
  nodes,
  inConflict = false,
  startup,
  audit = false,
  read,
  now = new Date(),
}: Given) {
  const clusterState: LeaderSources['clusterState'] | undefined = nodes && {
    isSynced: () => true,
    revision: () => 1,
    nodes: () => [...nodes],
    daemonSets: () => [],
    isInConflict: () => inConflict,
    startupOn: () => startup,
  };
  const readObject = async (path: string) => {
    if (objects[path]) return objects[path];
    throw absent('GET', path);
  };
  const cluster = () => clusterState && { clusterState, policies: [], compiled: compilePolicies([]) };
  return createExplanations(
    pageSources({
      now: () => now,
      audit,
      cluster,
      objects: { policies: () => policies, read: read ?? readObject },
    }),
  );
}

/** One text a row or line. */
const textOf = ({ sections }: ShownExplanation) => sections.flatMap(rowsOf);
const rowsOf = (section: ShownSection) =>
  'lines' in section
    ? section.lines
    : section.rows.map((row) =>
        row
          .map((cell) =>
            typeof cell === 'string' ? cell : 'nodes' in cell ? `${cell.nodes.join(',')}+${cell.more}` : cell.text,
          )
          .join(' | '),
      );

describe('a node', () => {
  const objects = { '/api/v1/nodes/n1': node('n1') };

  it('is explained by what the leader knows: who wrote it, what it lacks, and what comes of it', async () => {
    const explained = await explaining({ objects, policies: [RESTORE, AGENTS], nodes: [] })('node/n1');
    expect(textOf(explained)).toEqual([
      'gpu:NoSchedule | missing | required by pool (Restore, spec.taints[0]); the leader is about to set it',
      'spec.taints is owned by field manager "kubectl" (Update at 2026-01-02T03:04:05Z)',
      'pool | Restore | is selected',
      'note: a replica may not read Events: the command reads them, with your rights',
    ]);
    expect(explained.next).toEqual({ note: 'nothing: the leader is about to set it' });
    expect(Date.now() - Date.parse(explained.at)).toBeLessThan(5_000);
  });

  it('says that another writer removes the taint repeatedly, and the next step shows the Events', async () => {
    const explained = await explaining({ objects, policies: [RESTORE], nodes: [], inConflict: true })('node/n1');
    expect(textOf(explained)[0]).toContain('another writer removes it repeatedly');
    expect(explained.next.command).toContain('reason=TaintConflict');
  });

  it('says what only --audit keeps from being done', async () => {
    const explained = await explaining({ objects, policies: [RESTORE], nodes: [], audit: true })('node/n1');
    expect(textOf(explained)[0]).toContain('pool (Audit, spec.taints[0]); only --audit keeps it from being set');
  });

  it('shows a startup taint that remains, also one of another component, and what it waits for', async () => {
    const created = { name: 'n1', creationTimestamp: '2026-01-01T00:00:00Z' };
    const ready = { type: 'Ready', status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z' };
    const taints = [{ key: 'ebs.csi.aws.com/agent-not-ready', effect: 'NoExecute' }];
    const remaining = { metadata: created, spec: { taints }, status: { conditions: [ready] } };
    const startup = 'startup taint a:NoSchedule waits for DaemonSet ns/agent: its pod is not Ready';
    const given = { objects: { '/api/v1/nodes/n1': remaining }, nodes: [], startup };
    const texts = textOf(await explaining(given)('node/n1'));
    expect(texts).toContainEqual(
      expect.stringMatching(
        /^startup taint ebs\.csi\.aws\.com\/agent-not-ready:NoExecute has been on the Ready node for/,
      ),
    );
    expect(texts).toContain(startup);
  });

  it('does not say that a startup taint remains because the clock of the machine is ahead', async () => {
    const now = new Date('2026-01-01T00:00:10Z');
    vi.useFakeTimers({ toFake: ['Date'], now: now.getTime() + 20 * 60_000 });
    onTestFinished(() => void vi.useRealTimers());
    const created = { name: 'n1', creationTimestamp: '2026-01-01T00:00:00Z' };
    const ready = { type: 'Ready', status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z' };
    const taints = [{ key: 'ebs.csi.aws.com/agent-not-ready', effect: 'NoExecute' }];
    const fresh = { metadata: created, spec: { taints }, status: { conditions: [ready] } };
    const explained = await explaining({ objects: { '/api/v1/nodes/n1': fresh }, nodes: [], now })('node/n1');
    expect(textOf(explained).join('\n')).not.toContain('has been on the Ready node for');
    expect(explained.at).toBe(now.toISOString());
  });

  it('is explained by another replica too, which says what it does not know', async () => {
    const texts = textOf(await explaining({ objects, policies: [RESTORE] })('node/n1'));
    expect(texts[0]).toContain('the leader sets it, unless another writer removes it repeatedly');
    expect(texts).toContainEqual(expect.stringMatching(/^note: this replica does not lead/));
  });
});

describe('a DaemonSet', () => {
  const objects = { '/apis/apps/v1/namespaces/ns/daemonsets/agent': DAEMON_SET };

  it('is explained by the nodes that the leader knows, of which few are named', async () => {
    const tainted = Array.from({ length: 5_000 }, (_, index) => projectNode(node(`n${index}`, [EDGE])));
    const explained = await explaining({ objects, policies: [AGENTS], nodes: tainted })('daemonset/ns/agent');
    expect(textOf(explained)).toEqual([
      'edge:NoSchedule | missing | required by agents (Mutate, spec.tolerations[0])',
      'it was last written by field manager "kubectl" (Update at 2026-01-02T03:04:05Z)',
      'TolerationPolicy agents | Mutate | is selected',
      '5000 | n0,n1,n2+4997 | no | taint edge:NoSchedule',
      expect.stringMatching(/^note: which nodes lack one of its pods/),
      expect.stringMatching(/^note: a replica may not read Events/),
    ]);
    expect(explained.next).toEqual({
      command: 'kubectl rollout restart -n ns daemonset agent',
      note: 'lets it run on 5000 more nodes, if it is meant to run there, and replaces its pods',
    });
    expect(JSON.stringify(explained).length).toBeLessThan(2_000);
  });

  it('has one command for the gap that a policy asks about, and also for the others if it is node-critical', async () => {
    const nodes = [projectNode(node('n1', [EDGE])), projectNode(node('n2', [{ ...EDGE, key: 'dedicated' }]))];
    const nextOf = async (more: Readonly<Record<string, object>>) =>
      (await explaining({ objects: { ...objects, ...more }, policies: [AGENTS], nodes })('daemonset/ns/agent')).next;
    expect(await nextOf({})).toEqual({
      command: 'kubectl rollout restart -n ns daemonset agent',
      note: 'lets it run on 1 more node, if it is meant to run there, and replaces its pods',
    });
    const [[path = '', agent] = []] = Object.entries(objects);
    const critical = structuredClone(agent) as { spec: { template: { spec: object } } };
    Object.assign(critical.spec.template.spec, { priorityClassName: 'system-node-critical' });
    expect(await nextOf({ [path]: critical })).toEqual({
      command: expect.stringMatching(
        /^taintkeeper coverage fix -n ns --daemonset agent --taint dedicated \| kubectl apply -f - && .* && kubectl rollout restart -n ns daemonset agent$/,
      ),
      note: 'lets it run on 2 more nodes, if it is meant to run there, and replaces its pods',
    });
  });

  it('runs soon where a startup taint of a policy keeps it off', async () => {
    const taint = { key: 'example.com/storage-not-ready', effect: 'NoSchedule' };
    const readyWhen = { daemonSets: [{ namespace: 'ns', name: 'csi' }] };
    const storage = policyOf('TaintPolicy', 'storage', {
      mode: 'Restore',
      taints: [{ ...taint, ensure: 'UntilReady', readyWhen }],
    });
    const nodes = [projectNode(node('new', [taint]))];
    const explained = await explaining({ objects, policies: [storage], nodes })('daemonset/ns/agent');
    expect(textOf(explained)).toContain('1 | new+0 | not yet | taint example.com/storage-not-ready:NoSchedule');
    expect(explained.next).toEqual({ note: expect.stringMatching(/^nothing, if it can wait until the taints above /) });
  });

  it('counts the lines that are left out', async () => {
    const policies = Array.from({ length: 300 }, (_, index) => policyOf('TolerationPolicy', `p${index}`, {}));
    const { sections } = await explaining({ objects, policies, nodes: [] })('daemonset/ns/agent');
    const notes = sections.find((section) => 'lines' in section && section.lines.length === 100);
    // The notes that are always there are two.
    expect(notes).toMatchObject({ linesLeftOut: 202 });
  });

  it('has no more rows than one reads', async () => {
    const alone = Array.from({ length: 300 }, (_, index) =>
      projectNode(node(`n${index}`, [{ ...EDGE, key: `k${index}` }])),
    );
    const { sections } = await explaining({ objects, nodes: alone })('daemonset/ns/agent');
    expect(sections).toContainEqual(expect.objectContaining({ rows: expect.any(Array), rowsLeftOut: 200 }));
  });

  it('is left to the leader', async () => {
    await expect(explaining({ objects })('daemonset/ns/agent')).rejects.toMatchObject({
      statusCode: 404,
      message: expect.stringContaining('known to the leader alone'),
    });
  });
});

it.each([
  { what: 'node/n2', statusCode: 404, message: 'There is no node n2.' },
  { what: 'daemonset/ns/b', statusCode: 404, message: 'There is no DaemonSet ns/b.' },
  { what: 'pod/ns/b', statusCode: 404 },
  { what: 'node/../pods', statusCode: 404 },
  { what: 'node/a%2fb', statusCode: 404 },
  { what: 'node/A', statusCode: 404 },
  { what: `node/${'a'.repeat(254)}`, statusCode: 404 },
  { what: '', statusCode: 404 },
])('$what is not explained', async ({ what, ...expected }) => {
  await expect(explaining({ nodes: [] })(what)).rejects.toMatchObject(expected);
});

it('asks once for what several clients request at the same time, and takes no more than a few at a time', async () => {
  const asked: string[] = [];
  let answer = () => {};
  const answered = new Promise<void>((resolve) => {
    answer = resolve;
  });
  const explain = explaining({
    async read(path) {
      asked.push(path);
      await answered;
      return node('n');
    },
  });
  const answers = ['node/a', 'node/b', 'node/c', 'node/d', 'node/a'].map((what) => explain(what));
  await expect(explain('node/e')).rejects.toMatchObject({ statusCode: 503 });
  answer();
  await Promise.all(answers);
  expect(asked).toHaveLength(4);
  await explain('node/e');
});

it('without a cluster there is nothing to explain', async () => {
  await expect(createExplanations(pageSources())('node/n1')).rejects.toMatchObject({
    statusCode: 404,
    message: expect.stringContaining('takes its policies from files'),
  });
});
