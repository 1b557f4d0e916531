import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { admin, developer } from '../control-plane/users.ts';
import {
  createNodes,
  createTaintPolicy,
  metricOf,
  patchNode,
  REMEMBERED,
  repairsOf,
  waitForAnnotation,
  waitForRecords,
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
  /** Its taints in the end. */
  taints: readonly string[];
  remembered: string | undefined;
}

const OUTAGES: readonly Outage[] = [
  {
    what: 'lost all of its taints: those that are declared or remembered are back',
    name: 'lost',
    changes: [{ spec: { taints: null } }],
    taints: [GPU_TEXT, OWN_TEXT],
    remembered: `${GPU_TEXT}, ${OWN_TEXT}`,
  },
  {
    what: 'lost them beside another one, which stays',
    name: 'partly',
    changes: [{ spec: { taints: [OTHER] } }],
    taints: [OTHER_TEXT, GPU_TEXT, OWN_TEXT],
    remembered: `${GPU_TEXT}, ${OWN_TEXT}`,
  },
  {
    what: 'got other values: the declared one is back, and the other one stays, being protected itself',
    name: 'revalued',
    changes: [{ spec: { taints: [{ ...OWN, value: 'no' }, OTHER, { ...GPU, value: 'cpu' }] } }],
    taints: ['own.example.com/kept=no:NoSchedule', OTHER_TEXT, GPU_TEXT],
    remembered: `${GPU_TEXT}, ${OWN_TEXT}`,
  },
  {
    what: 'was released from a taint first: it stays away, and the release is spent',
    name: 'released',
    changes: [{ metadata: { annotations: { [RELEASE]: OWN_TEXT } } }, { spec: { taints: [GPU] } }],
    taints: [GPU_TEXT],
    remembered: GPU_TEXT,
  },
  {
    what: 'forgot what it carried: the present state is accepted, but for what is declared',
    name: 'forgot',
    changes: [{ metadata: { annotations: { [REMEMBERED]: null } } }, { spec: { taints: null } }],
    taints: [GPU_TEXT],
    remembered: GPU_TEXT,
  },
  {
    what: 'left the policy and lost them: nobody wants them any more',
    name: 'left',
    changes: [{ metadata: { labels: { pool: null } }, spec: { taints: null } }],
    taints: [],
    remembered: undefined,
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
    const names = [...OUTAGES.map(({ name }) => name), 'busy'];
    await createNodes(cp(), names, 'keep', [GPU, OWN]);
    for (const name of names) await waitForAnnotation(cp(), name, REMEMBERED, `${GPU_TEXT}, ${OWN_TEXT}`);
    await waitForRecords(cp(), names, OWN.key);
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

  it.each(OUTAGES)('$what', async ({ name, taints, remembered }) => {
    await waitForTaints(cp(), name, ...taints);
    await waitForAnnotation(cp(), name, REMEMBERED, remembered);
    figures.push(`${name}: right ${Math.round(performance.now() - startedAt)} ms after the start at the latest`);
    const { metadata, spec } = await getNode(cp(), name);
    const was = before.get(name);
    expect(metadata.labels).toEqual(was?.metadata.labels);
    expect(spec).toEqual({ ...was?.spec, taints: spec.taints });
    const { [REMEMBERED]: _now, ...annotations } = metadata.annotations ?? {};
    expect(annotations).toEqual(ALSO.annotations);
  });

  it('each is written once', async () => {
    const { passed } = repairsOf(cp());
    expect(passed.toSorted()).toEqual(['forgot', 'lost', 'partly', 'revalued']);
    const repairs = 'taintkeeper_repairs_total{kind="Node",policy="keep"}';
    expect(await metricOf(installation.replica('b'), repairs)).toBe(4);
  });

  it('somebody who writes the node all the time does not hold up the repair', async () => {
    await installation.proxy.waitForReady('b');
    await waitUntilRestored(cp(), 'busy', GPU.key);
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
      // What is declared comes back after a release; what is only kept is forgotten.
      const released = { [RELEASE]: `${GPU_TEXT}, ${OWN_TEXT}` };
      expect((await patchNode(cp(), developer, 'busy', { metadata: { annotations: released } })).error).toBe('');
      expect((await patchNode(cp(), developer, 'busy', { spec: { taints: null } })).error).toBe('');
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
