import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ALLOW_REMOVAL_ANNOTATION } from '../../src/judge/allow-removal.ts';
import { POLICY_GONE_MS } from '../../src/judge/ended-startup-taints.ts';
import { parseStartupBoot, STARTUP_BOOT_ANNOTATION, type StartupBoot } from '../../src/judge/node-boot.ts';
import { makeClusterAdmin } from '../control-plane/cluster-admin.ts';
import { APPLY_PATCH, JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH } from '../control-plane/content-types.ts';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { succeeded } from '../control-plane/rest.ts';
import { admin, developer, nodeController, node as nodeUser, type User } from '../control-plane/users.ts';
import { waitUntil } from '../control-plane/wait-until.ts';
import { isExploring, seed } from '../seed.ts';
import { textOf } from '../unit/judge/node/declared-state.ts';
import {
  elapse,
  type ModelCluster,
  type ModelLeader,
  type NodeChange,
  newCluster,
  newLeader,
  reboot,
  register,
  update,
  withNode,
  withoutNode,
} from '../unit/judge/node/model-cluster.ts';
import {
  type Action,
  action,
  CONTROLLER,
  compiled,
  KUBELET,
  OWNER,
  type Policies,
  taintPolicies,
} from '../unit/judge/node/node-sequences.ts';
import { createTaintPolicy, metricOf } from './drift.ts';
import { type Installation, install, leaderOf } from './installation.ts';
import { attempt, getNode, type Node, path } from './nodes.ts';
import { policyObject } from './policy-objects.ts';
import { POLICIES_PATH } from './policy-resources.ts';

/** With TAINTKEEPER_SEED, a longer sequence is tried. */
const LENGTH = isExploring() ? 150 : 50;
const TIMEOUT_MS = 45_000;
const ACTION_TIMEOUT_MS = 15_000;
const NAMES = ['n1', 'n2'];
/** The two ways in which the API server asks: a policy of each shows when the configurations have what was applied before. */
const MARKER = 'marker.example.com';

type Way = 'merge' | 'strategic' | 'apply' | 'put';
type Step = Action & { readonly way: Way };

/** Those that a test can do to a real cluster without a clock of its own, and without pods. */
const isPossible = (one: Action) =>
  !['ready', 'time', 'oppose', 'policies'].includes(one.do) &&
  // No kubelet writes the annotation: see forged-node-state.test.ts.
  !(one.do === 'register' && one.by === KUBELET && one.change.allowRemoval !== undefined);

const [start = { policies: {}, steps: [] }] = fc.sample(
  fc.record({
    policies: taintPolicies,
    steps: fc.array(
      fc
        .tuple(action.filter(isPossible), fc.constantFrom<Way>('merge', 'strategic', 'apply', 'put'))
        .map(([one, way]): Step => ({ ...one, way })),
      { minLength: LENGTH, maxLength: LENGTH },
    ),
  }),
  { numRuns: 1, seed: seed(133) },
);

describeWithControlPlane('a random sequence of requests, policies, outages and leaders', {}, (cp) => {
  let installation: Installation;
  let model: ModelCluster;
  let leader: ModelLeader | undefined;
  let specs: Policies = {};
  let generation = 0;
  let replicas = 0;
  const did: string[] = [];
  const began = performance.now();

  beforeAll(async () => {
    installation = await install(cp(), ['listPods']);
    await makeClusterAdmin(cp(), 'User', OWNER.username);
    model = { ...newCluster(compiled({})), isWebhookUp: false };
    const nodeSelector = { matchExpressions: [{ key: MARKER, operator: 'Exists' }] };
    for (const mode of ['Restore', 'Deny']) {
      await createTaintPolicy(cp(), `marker-${mode.toLowerCase()}`, {
        ...{ mode, nodeSelector },
        taints: [{ key: `${MARKER}/${mode}-0` }],
      });
    }
    await startReplica();
    for (const [name, spec] of Object.entries(start.policies)) await changePolicy(name, spec);
  });
  afterAll(() => installation?.stop());

  const userOf = (by: Action & { by?: unknown; node?: string }): User => {
    if (by.by === KUBELET) return nodeUser(by.node ?? '');
    if (by.by === CONTROLLER) return nodeController;
    return by.by === OWNER ? { name: OWNER.username, groups: [] } : developer;
  };

  async function startReplica(): Promise<void> {
    const name = `r${++replicas}`;
    const [replica] = await installation.start([name]);
    // The leader writes at once what the nodes lack, and only chance decides whether the API server can call it by then.
    installation.cutOff(name);
    await waitUntil(
      async () =>
        // It leads, and has been at every node.
        ((await leaderOf(cp())) === name &&
          replica &&
          (await metricOf(replica, 'taintkeeper_sweep_timestamp_seconds{controller="node-repair"}'))) ||
        undefined,
      { timeoutMs: TIMEOUT_MS, otherwise: () => `${name} does not lead` },
    );
    leader = newLeader(compiled(specs));
    await expectAsModel();
    await installation.reconnect(name);
    await webhookIsUp();
  }

  /** The API server has the webhooks of all policies that were applied so far, and calls them. */
  async function webhookIsUp(): Promise<void> {
    generation++;
    const markers = ['Restore', 'Deny'].map((mode) => ({
      key: `${MARKER}/${mode}-${generation}`,
      effect: 'NoSchedule',
    }));
    const probe = `probe-${generation}`;
    const metadata = { name: probe, labels: { [MARKER]: '' } };
    await succeeded(cp().request(admin, 'POST', '/api/v1/nodes', { body: { metadata, spec: { taints: markers } } }));
    for (const mode of ['Restore', 'Deny']) {
      const url = `${POLICIES_PATH.TaintPolicy}/marker-${mode.toLowerCase()}`;
      const body = { spec: { taints: [{ key: `${MARKER}/${mode}-${generation}` }] } };
      await succeeded(cp().request(admin, 'PATCH', url, { body, contentType: MERGE_PATCH }));
    }
    // The probe also gets the taints of policies that select all nodes.
    const without = async (index: number) => {
      const { spec } = await getNode(cp(), probe);
      const taints = (spec.taints ?? []).filter(({ key }) => key !== markers[index]?.key);
      return cp().request<Node & { message?: string }>(admin, 'PATCH', `${path(probe)}?dryRun=All`, {
        body: { spec: { taints } },
        contentType: MERGE_PATCH,
      });
    };
    await waitUntil(
      async () => {
        const restored = (await without(0)).body.spec?.taints?.some(({ key }) => key === markers[0]?.key);
        const denied = (await without(1)).body.message?.includes('TaintPolicy "marker-deny"');
        return (restored && denied) || undefined;
      },
      { timeoutMs: TIMEOUT_MS, otherwise: () => `the webhooks of generation ${generation} are not in force` },
    );
    model = { ...model, isWebhookUp: true };
  }

  async function changePolicy(name: string, spec: Policies[string] | undefined): Promise<void> {
    const url = POLICIES_PATH.TaintPolicy;
    const { [name]: before, ...others } = specs;
    if (before === undefined && spec === undefined) return;
    if (spec === undefined) await succeeded(cp().request(admin, 'DELETE', `${url}/${name}`));
    else if (before === undefined)
      await succeeded(cp().request(admin, 'POST', url, { body: policyObject('TaintPolicy', name, spec) }));
    else {
      // Not an update of what was read: the leader may write the status in between.
      const body = [{ op: 'replace', path: '/spec', value: spec }];
      await succeeded(cp().request(admin, 'PATCH', `${url}/${name}`, { body, contentType: JSON_PATCH }));
    }
    specs = spec === undefined ? others : { ...others, [name]: spec };
    model = { ...model, policies: compiled(specs) };
    leader = leader && { ...leader, policies: model.policies };
    await webhookIsUp();
  }

  /** The request of a client that makes this of the Node. */
  async function send(user: User, name: string, { labels, taints, ...change }: NodeChange, way: Way) {
    const live = await getNode(cp(), name);
    const isAnnotated = 'allowRemoval' in change;
    if (way === 'put') {
      const { [ALLOW_REMOVAL_ANNOTATION]: before, ...others } = live.metadata.annotations ?? {};
      const entry = isAnnotated ? change.allowRemoval : before;
      const annotations = { ...others, ...(entry === undefined ? {} : { [ALLOW_REMOVAL_ANNOTATION]: entry }) };
      const metadata = { ...live.metadata, annotations, ...(labels ? { labels } : {}) };
      return attempt(cp(), user, 'PUT', path(name), {
        ...live,
        metadata,
        spec: { ...live.spec, ...(taints ? { taints } : {}) },
      });
    }
    const metadata = {
      ...(labels ? { labels: { pool: labels.pool ?? null } } : {}),
      ...(isAnnotated ? { annotations: { [ALLOW_REMOVAL_ANNOTATION]: change.allowRemoval ?? null } } : {}),
    };
    const body = { metadata, ...(taints ? { spec: { taints } } : {}) };
    if (way !== 'apply' || labels || isAnnotated) {
      return attempt(cp(), user, 'PATCH', path(name), body, way === 'merge' ? MERGE_PATCH : STRATEGIC_MERGE_PATCH);
    }
    const applied = { apiVersion: 'v1', kind: 'Node', metadata: { name }, spec: { taints } };
    return attempt(cp(), user, 'PATCH', `${path(name)}?fieldManager=tool&force=true`, applied, APPLY_PATCH);
  }

  async function act(one: Step): Promise<void> {
    switch (one.do) {
      case 'edit': {
        const before = model.nodes.get(one.node);
        if (!before || (one.by === KUBELET && one.node !== 'n1')) return;
        const change = one.edit(before, []);
        const stored = update(model, one.by, before, change);
        const { passed, error } = await send(userOf(one), one.node, change, one.way);
        did.push(passed ? `edited by ${one.by.username}` : 'denied');
        expect({ passed, error: passed ? '' : error }, what()).toMatchObject({ passed: stored !== undefined });
        if (stored) model = withNode(model, stored);
        return;
      }
      case 'register': {
        if (model.nodes.has(one.node)) return;
        const { labels = {}, taints = [], allowRemoval, bootId = '' } = one.change;
        const annotations = allowRemoval === undefined ? {} : { [ALLOW_REMOVAL_ANNOTATION]: allowRemoval };
        const metadata = { name: one.node, labels, annotations };
        const body = { metadata, spec: { taints }, status: { nodeInfo: { bootID: bootId } } };
        const { error } = await attempt(cp(), userOf(one), 'POST', '/api/v1/nodes', body);
        expect(error, what()).toBe('');
        model = register(model, one.by, one.node, one.change);
        did.push('registered');
        return;
      }
      case 'delete':
        if (!model.nodes.has(one.node)) return;
        await succeeded(cp().request(admin, 'DELETE', path(one.node)));
        model = withoutNode(model, one.node);
        return;
      case 'reboot': {
        const before = model.nodes.get(one.node);
        if (!before) return;
        const conditions = [{ type: 'Ready', status: 'True', reason: 'Test' }];
        const body = { status: { nodeInfo: { bootID: one.bootId }, conditions } };
        const { passed, error } = await attempt(
          cp(),
          nodeUser(one.node),
          'PATCH',
          `${path(one.node)}/status`,
          body,
          MERGE_PATCH,
        );
        expect({ passed, error }, what()).toEqual({ passed: true, error: '' });
        model = reboot(model, before, one.bootId);
        did.push('rebooted');
        return;
      }
      case 'policy':
        // The webhook also judges policies.
        if (!model.isWebhookUp) return;
        await changePolicy(one.name, one.spec);
        did.push('policy changed');
        return;
      case 'webhook': {
        if (!leader || one.isUp === model.isWebhookUp) return;
        const name = `r${replicas}`;
        if (one.isUp) {
          await installation.reconnect(name);
          await webhookIsUp();
        } else {
          installation.cutOff(name);
          model = { ...model, isWebhookUp: false };
          did.push('webhook down');
        }
        return;
      }
      case 'leader':
        if (leader) await installation.kill();
        leader = undefined;
        model = { ...model, isWebhookUp: false };
        did.push(`leader ${one.next}`);
        if (one.next === 'new') await startReplica();
        return;
    }
  }

  const what = () => did.join(', ');

  /** The leader of the model has done what it does at this moment, and soon: a startup taint without a policy goes after ten seconds. */
  function settleModel(): void {
    const now = performance.now() - began;
    const pass = (ms: number) => {
      const after = elapse(model, leader ? [leader] : [], ms);
      model = after.cluster;
      [leader] = after.leaders;
    };
    pass(Math.max(0, now - model.now));
    const goes = [...(leader?.memories.values() ?? [])].some(
      ({ tracked, unusedRecord }) =>
        typeof unusedRecord === 'number' || tracked.some(({ undeclaredSince }) => undeclaredSince !== undefined),
    );
    if (goes) pass(POLICY_GONE_MS);
  }

  /** Without the time, which is that of the API server. */
  const bootText = (boot: StartupBoot | undefined) =>
    boot && `${boot.bootId}${boot.setAt === undefined ? '' : ' after a reboot'}`;

  async function expectAsModel(): Promise<void> {
    const before = model.nodes;
    settleModel();
    for (const { name, taints, startupBoot } of before.values()) {
      const after = model.nodes.get(name);
      const isRecorded = after?.startupBoot?.setAt !== startupBoot?.setAt;
      if (after && isRecorded && after.taints.length > taints.length) did.push('set again');
    }
    for (const name of NAMES) {
      const node = model.nodes.get(name);
      const expected = node && {
        pool: node.labels.pool,
        allowRemoval: node.allowRemoval,
        boot: bootText(node.startupBoot),
        taints: node.taints.map(textOf).sort(),
      };
      let last: unknown;
      await waitUntil(
        async () => {
          const { status, body } = await cp().request<Node>(admin, 'GET', path(name));
          const { metadata, spec } = body;
          last =
            status === 404
              ? undefined
              : {
                  pool: metadata.labels?.pool,
                  allowRemoval: metadata.annotations?.[ALLOW_REMOVAL_ANNOTATION],
                  boot: bootText(parseStartupBoot(metadata.annotations?.[STARTUP_BOOT_ANNOTATION])),
                  taints: (spec.taints ?? []).map(textOf).sort(),
                };
          return JSON.stringify(last) === JSON.stringify(expected) || undefined;
        },
        {
          timeoutMs: TIMEOUT_MS,
          otherwise: () => `${name} is ${JSON.stringify(last)}, not ${JSON.stringify(expected)}, after: ${what()}`,
        },
      );
    }
  }

  it(`leaves the nodes as the rules say, after each of ${LENGTH} steps`, {
    timeout: LENGTH * ACTION_TIMEOUT_MS,
  }, async () => {
    for (const one of start.steps) {
      await act(one);
      await expectAsModel();
    }
    if (!leader) await startReplica();
    await expectAsModel();
    // What a sequence must have tried, if it is the usual one.
    if (isExploring()) return;
    expect([...new Set(did)]).toEqual(
      expect.arrayContaining([
        ...['denied', 'registered', 'policy changed', 'webhook down', 'leader new', 'leader none'],
        ...['rebooted', 'set again'],
      ]),
    );
  });
});
