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
  waitForAnnotation,
  waitForRecord,
  waitForTaints,
  waitUntilRestored,
} from './drift.ts';
import { type Installation, install } from './installation.ts';
import { GPU, getNode, type Node, OTHER, RELEASE, type Taint } from './nodes.ts';

const OWN: Taint = { key: 'own.example.com/kept', value: 'yes', effect: 'NoSchedule' };
const GPU_TEXT = 'dedicated=gpu:NoSchedule';
const OWN_TEXT = 'own.example.com/kept=yes:NoSchedule';
const OTHER_TEXT = 'example.com/other:NoSchedule';
const LABEL_EVERY_MS = 20;
/** Some of the nodes get them while nobody watches: nothing of it is to be lost. */
const ALSO = { labels: { changed: 'too' }, annotations: { 'example.com/note': 'kept' } };

interface Outage {
  /** What happens to the node while taintkeeper is down. */
  what: string;
  name: string;
  changes: readonly object[];
  /** Whether its record is deleted before. */
  isForgotten?: true;
  /** Its taints in the end. */
  taints: readonly string[];
  /** The taints of its record in the end. */
  recorded: readonly string[];
}

const OUTAGES: readonly Outage[] = [
  {
    what: 'lost all of its taints: those that are required or recorded are back',
    name: 'lost',
    changes: [{ spec: { taints: null } }],
    taints: [GPU_TEXT, OWN_TEXT],
    recorded: [OWN_TEXT],
  },
  {
    what: 'lost them beside another one, which stays',
    name: 'partly',
    changes: [{ spec: { taints: [OTHER] } }],
    taints: [OTHER_TEXT, GPU_TEXT, OWN_TEXT],
    recorded: [OWN_TEXT],
  },
  {
    what: 'got other values: the declared one is back, and the other one stays, being protected itself',
    name: 'revalued',
    changes: [{ spec: { taints: [{ ...OWN, value: 'no' }, OTHER, { ...GPU, value: 'cpu' }] } }],
    taints: ['own.example.com/kept=no:NoSchedule', OTHER_TEXT, GPU_TEXT],
    recorded: [OWN_TEXT],
  },
  {
    what: 'lost a taint whose removal was announced: it stays away, and the entry is deleted',
    name: 'released',
    changes: [{ metadata: { annotations: { [RELEASE]: OWN_TEXT } } }, { spec: { taints: [GPU] } }],
    taints: [GPU_TEXT],
    recorded: [],
  },
  {
    what: 'has no record any more: the present state is accepted, but for what is required',
    name: 'forgot',
    changes: [{ spec: { taints: null } }],
    isForgotten: true,
    taints: [GPU_TEXT],
    recorded: [],
  },
  {
    what: 'left the policy and lost them: no policy is about them any more',
    name: 'left',
    changes: [{ metadata: { labels: { pool: null } }, spec: { taints: null } }],
    taints: [],
    recorded: [],
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
      taints: [
        { ...GPU, ensure: 'Always' },
        { key: OWN.key, restrict: ['Removal'] },
      ],
    });
    const names = OUTAGES.map(({ name }) => name);
    await createNodes(cp(), names, 'keep', [GPU, OWN]);
    await createNodes(cp(), ['busy'], 'none');
    for (const name of names) await waitForRecord(cp(), name, OWN_TEXT);
    await first?.stop();
    for (const { name, changes, isForgotten } of OUTAGES) {
      if (isForgotten) {
        const record = `/apis/taintkeeper.dev/v1alpha1/nodetaintrecords/${name}`;
        expect((await cp().request(admin, 'DELETE', record)).status).toBe(200);
      }
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

  it.each(OUTAGES)('$what', async ({ name, taints, recorded }) => {
    await waitForTaints(cp(), name, ...taints);
    await waitForRecord(cp(), name, ...recorded);
    await waitForAnnotation(cp(), name, RELEASE, undefined);
    figures.push(`${name}: right ${Math.round(performance.now() - startedAt)} ms after the start at the latest`);
    const { metadata, spec } = await getNode(cp(), name);
    const was = before.get(name);
    expect(metadata.labels).toEqual(was?.metadata.labels);
    expect(spec).toEqual({ ...was?.spec, taints: spec.taints });
    expect(metadata.annotations).toEqual(ALSO.annotations);
  });

  it('each is written once', async () => {
    const { passed } = repairsOf(cp());
    expect(passed.toSorted()).toEqual(['forgot', 'lost', 'partly', 'revalued']);
    const repairs = 'taintkeeper_repairs_total{kind="Node",policy="keep"}';
    expect(await metricOf(installation.replica('b'), repairs)).toBe(4);
  });

  it('a user who writes the node all the time does not hold up the repair', async () => {
    await installation.proxy.waitForReady('b');
    await waitUntilRestored(cp(), 'lost', GPU.key);
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
      expect((await patchNode(cp(), developer, 'busy', { metadata: { labels: { pool: 'keep' } } })).error).toBe('');
      const lostAt = performance.now();
      await waitForTaints(cp(), 'busy', GPU_TEXT);
      const { conflicts } = repairsOf(cp());
      const ms = Math.round(performance.now() - lostAt);
      figures.push(`busy: put back after ${ms} ms, ${conflicts.length} conflicts, ${labels} labels`);
    } finally {
      stopped = true;
      await labelling;
    }
    expect((await getNode(cp(), 'busy')).metadata.labels?.round).toBe(`${labels - 1}`);
  });
});
