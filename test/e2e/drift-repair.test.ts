import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { admin, developer } from '../control-plane/users.ts';
import {
  createNodes,
  createTaintPolicy,
  metricOf,
  patchNode,
  repairsOf,
  waitForEvent,
  waitForTaints,
  waitUntilRestored,
} from './drift.ts';
import { type Installation, install } from './installation.ts';
import { GPU, getNode, type Node, OTHER, RELEASE, type Taint, taintsOf } from './nodes.ts';

const SOFT: Taint = { key: 'own.example.com/avoid', value: 'yes', effect: 'PreferNoSchedule' };
/** Only protected: no policy requires it. */
const OWN: Taint = { key: 'own.example.com/kept', value: 'yes', effect: 'NoSchedule' };
const GPU_TEXT = 'dedicated=gpu:NoSchedule';
const SOFT_TEXT = 'own.example.com/avoid=yes:PreferNoSchedule';
const OTHER_TEXT = 'example.com/other:NoSchedule';
const LABEL_EVERY_MS = 20;
/** Some of the nodes get them while nobody watches: nothing of it is to be lost. */
const ALSO = { labels: { changed: 'too' }, annotations: { 'example.com/note': 'kept' } };

interface Outage {
  /** What happens to the node while taintkeeper is down. */
  what: string;
  name: string;
  changes: readonly object[];
  /** Its taints in the end. */
  taints: readonly string[];
  /** The annotation allow-removal in the end. */
  allowRemoval?: string;
}

const OUTAGES: readonly Outage[] = [
  {
    what: 'lost all of its taints: the required ones are back, and the one that is only protected is not',
    name: 'lost',
    changes: [{ spec: { taints: null } }],
    taints: [GPU_TEXT, SOFT_TEXT],
  },
  {
    what: 'lost them beside another one, which stays',
    name: 'partly',
    changes: [{ spec: { taints: [OTHER] } }],
    taints: [OTHER_TEXT, GPU_TEXT, SOFT_TEXT],
  },
  {
    what: 'got other values: the required ones are back, and the one that is only protected stays as it is',
    name: 'revalued',
    changes: [{ spec: { taints: [{ ...OWN, value: 'no' }, OTHER, { ...GPU, value: 'cpu' }, SOFT] } }],
    taints: ['own.example.com/kept=no:NoSchedule', OTHER_TEXT, GPU_TEXT, SOFT_TEXT],
  },
  {
    what: 'lost a taint by an entry of the annotation allow-removal: the entry keeps it off',
    name: 'allowed',
    changes: [{ metadata: { annotations: { [RELEASE]: GPU_TEXT } } }, { spec: { taints: [SOFT] } }],
    taints: [SOFT_TEXT],
    allowRemoval: GPU_TEXT,
  },
  {
    what: 'lost a taint, and has an entry for another value of it: the taint is back',
    name: 'misallowed',
    changes: [{ metadata: { annotations: { [RELEASE]: 'dedicated=cpu:NoSchedule' } } }, { spec: { taints: [SOFT] } }],
    taints: [GPU_TEXT, SOFT_TEXT],
    allowRemoval: 'dedicated=cpu:NoSchedule',
  },
  {
    what: 'got a label with which the policy does not select it, and lost them: they stay off',
    name: 'left',
    changes: [{ metadata: { labels: { pool: null } }, spec: { taints: null } }],
    taints: [],
  },
];

describeWithControlPlane('nodes that changed while taintkeeper was down', {}, (cp) => {
  let installation: Installation;
  const before = new Map<string, Node>();
  const figures: string[] = [];
  let startedAt = 0;

  beforeAll(async () => {
    installation = await install(cp());
    const [first] = await installation.start(['a']);
    await createTaintPolicy(cp(), 'keep', {
      taints: [{ ...GPU, ensure: 'Always' }, { ...SOFT, ensure: 'Always' }, { key: OWN.key }],
    });
    const names = OUTAGES.map(({ name }) => name);
    await createNodes(cp(), names, 'keep', [GPU, SOFT, OWN]);
    await createNodes(cp(), ['busy'], 'none');
    await first?.stop();
    for (const { name, changes } of OUTAGES) {
      for (const change of [...changes, { metadata: ALSO }]) {
        expect((await patchNode(cp(), admin, name, change)).error).toBe('');
      }
      before.set(name, await getNode(cp(), name));
    }
    startedAt = performance.now();
    await installation.start(['b']);
  });
  afterAll(async () => {
    await installation?.stop();
    process.stderr.write(`${figures.join('\n')}\n`);
  });

  it.each(OUTAGES)('$what', async ({ name, taints, allowRemoval }) => {
    await waitForTaints(cp(), name, ...taints);
    figures.push(`${name}: right ${Math.round(performance.now() - startedAt)} ms after the start at the latest`);
    const { metadata, spec } = await getNode(cp(), name);
    const was = before.get(name);
    expect(metadata.labels).toEqual(was?.metadata.labels);
    expect(spec).toEqual({ ...was?.spec, taints: spec.taints });
    expect(metadata.annotations).toEqual({ ...ALSO.annotations, ...(allowRemoval ? { [RELEASE]: allowRemoval } : {}) });
  });

  it('each is written once', async () => {
    const { passed } = repairsOf(cp());
    expect(passed.toSorted()).toEqual(['lost', 'misallowed', 'partly', 'revalued']);
    const repairs = 'taintkeeper_repairs_total{kind="Node",policy="keep"}';
    expect(await metricOf(installation.replica('b'), repairs)).toBe(4);
  });

  it('a label change that makes the policy select the node sets the taints in the same request', async () => {
    await installation.proxy.waitForReady('b');
    await waitUntilRestored(cp(), 'lost', GPU.key);
    await createNodes(cp(), ['joins'], 'none', [OTHER]);
    const { passed, warnings } = await patchNode(cp(), developer, 'joins', { metadata: { labels: { pool: 'keep' } } });
    expect({ passed, warnings }).toEqual({
      passed: true,
      warnings: [`TaintPolicy keep added taint ${GPU_TEXT}`, `TaintPolicy keep added taint ${SOFT_TEXT}`],
    });
    expect(await taintsOf(cp(), 'joins')).toEqual([OTHER_TEXT, GPU_TEXT, SOFT_TEXT]);
    const event = await waitForEvent(cp(), 'joins', 'TaintAdded');
    expect(event.note).toContain(GPU_TEXT);
    expect(repairsOf(cp()).passed).not.toContain('joins');
  });

  it('a user who writes the node all the time does not hold up the repair', async () => {
    let labels = 0;
    let stopped = false;
    const label = async () => {
      for (; !stopped; labels++) {
        expect((await patchNode(cp(), admin, 'busy', { metadata: { labels: { round: `${labels}` } } })).error).toBe('');
        await delay(LABEL_EVERY_MS);
      }
    };
    const labelling = label();
    try {
      // The API server cannot call the replica, which goes on leading.
      installation.cutOff('b');
      expect((await patchNode(cp(), developer, 'busy', { metadata: { labels: { pool: 'keep' } } })).error).toBe('');
      const lostAt = performance.now();
      await waitForTaints(cp(), 'busy', GPU_TEXT, SOFT_TEXT);
      const { conflicts } = repairsOf(cp());
      const ms = Math.round(performance.now() - lostAt);
      figures.push(`busy: set after ${ms} ms, ${conflicts.length} conflicts, ${labels} labels`);
    } finally {
      stopped = true;
      await labelling;
    }
    expect((await getNode(cp(), 'busy')).metadata.labels?.round).toBe(`${labels - 1}`);
  });
});
