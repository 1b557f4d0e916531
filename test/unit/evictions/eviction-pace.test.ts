import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  displacedPods,
  evictingTaints,
  evictionTimes,
  rateIn,
  type UnboundPod,
  waitInZone,
  withTimeAdded,
  zoneOf,
  zonesOf,
} from '../../../src/evictions/eviction-pace.ts';
import type { Taint } from '../../../src/kubernetes/taint.ts';

const NOW = Date.parse('2026-01-01T12:00:00Z');
const MINUTE_MS = 60_000;
const out: Taint = { key: 'out', effect: 'NoExecute' };
const at = (time: number) => ({ ...out, timeAdded: new Date(time).toISOString() });

describe('a zone', () => {
  it.each([
    { labels: {}, zone: '' },
    { labels: { 'topology.kubernetes.io/zone': 'a' }, zone: 'a' },
    { labels: { 'topology.kubernetes.io/region': 'eu', 'topology.kubernetes.io/zone': 'a' }, zone: 'eu/a' },
    { labels: { 'topology.kubernetes.io/region': 'eu', 'topology.kubernetes.io/zone': '' }, zone: 'eu' },
  ])('is $zone for $labels', ({ labels, zone }) => {
    expect(zoneOf(labels)).toBe(zone);
  });

  it('knows its nodes, and when the last of them got a taint that evicts, to the end of that second', () => {
    const node = (zone: string, ready: boolean, ...taints: Taint[]) => ({
      labels: { 'topology.kubernetes.io/zone': zone },
      taints,
      ready,
    });
    const zones = zonesOf(
      [node('a', true, at(NOW - 9_000), at(NOW - 20_000)), node('a', false, at(NOW - 30_000)), node('b', true)],
      NOW,
    );
    expect(Object.fromEntries(zones)).toEqual({
      a: { nodes: 2, notReady: 1, lastAt: NOW - 8_000 },
      b: { nodes: 1, notReady: 0, lastAt: undefined },
    });
  });

  it('ignores a timeAdded far in the future, so that no user can stop the evictions for a year', () => {
    const zone = (taint: Taint) => zonesOf([{ labels: {}, taints: [taint], ready: true }], NOW).get('');
    expect(zone(at(NOW + 365 * 86_400_000))?.lastAt).toBeUndefined();
    expect(zone(at(NOW + 2_000))?.lastAt).toBe(NOW + 3_000);
  });

  it.each([
    { nodes: 3, notReady: 1, rate: 0.1, why: 'most are ready' },
    { nodes: 3, notReady: 2, rate: 0, why: 'most of a small one are not' },
    { nodes: 1, notReady: 1, rate: 0, why: 'none is ready' },
    { nodes: 20, notReady: 11, rate: 0, why: '55 % of a small one' },
    { nodes: 50, notReady: 28, rate: 0, why: 'the largest small one' },
    { nodes: 51, notReady: 29, rate: 0.01, why: 'the smallest large one: a tenth of the rate' },
    { nodes: 1_000, notReady: 549, rate: 0.1, why: 'just under 55 %' },
    { nodes: 1_000, notReady: 550, rate: 0.01, why: '55 %' },
    { nodes: 1_000, notReady: 1_000, rate: 0, why: 'none is ready' },
  ])('of $nodes nodes, $notReady of them not ready, gets $rate nodes a second: $why', ({ rate, ...zone }) => {
    expect(rateIn(zone, 0.1)).toBeCloseTo(rate, 10);
  });

  it('is never faster than it may be, and never faster for more nodes that are not ready', () => {
    const rates = fc.double({ min: 0, max: 100, noNaN: true });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 5_000 }), fc.nat(5_000), rates, (nodes, some, rate) => {
        const notReady = some % (nodes + 1);
        const given = rateIn({ nodes, notReady }, rate);
        expect(given).toBeLessThanOrEqual(rate);
        if (notReady > 0) expect(given).toBeLessThanOrEqual(rateIn({ nodes, notReady: notReady - 1 }, rate));
      }),
    );
  });
});

describe('the time from one node to the next', () => {
  it.each([
    { rate: 0.1, lastAt: undefined, wait: 0, why: 'it is the first' },
    { rate: 0.1, lastAt: NOW, wait: 10_000, why: 'one in ten seconds' },
    { rate: 0.1, lastAt: NOW - 9_999.5, wait: 1, why: 'whole milliseconds, as timers have them' },
    { rate: 0.1, lastAt: NOW - 10_000, wait: 0, why: 'it is over' },
    { rate: 0.01, lastAt: NOW, wait: 100_000, why: 'one in 100 seconds' },
    { rate: 0, lastAt: undefined, wait: Number.POSITIVE_INFINITY, why: 'none at all' },
  ])('is $wait ms: $why', ({ rate, lastAt, wait }) => {
    expect(waitInZone(rate, lastAt, NOW)).toBe(wait);
  });

  it('lets no more through than the rate, however the clock goes on', () => {
    const steps = fc.array(fc.integer({ min: 0, max: 5_000 }), { minLength: 1, maxLength: 200 });
    fc.assert(
      fc.property(steps, fc.double({ min: 0.01, max: 10, noNaN: true }), (passing, rate) => {
        let now = NOW;
        const writes: number[] = [];
        for (const step of passing) {
          now += step;
          if (waitInZone(rate, writes.at(-1), now) === 0) writes.push(now);
        }
        expect(writes.length).toBeLessThanOrEqual(1 + ((now - NOW) * rate) / 1_000);
      }),
    );
  });
});

describe('what evicts', () => {
  it.each([
    { why: 'it is new', before: [], after: [out], evicting: [out] },
    {
      why: 'another value evicts who tolerates the old one',
      before: [{ ...out, value: 'a' }],
      after: [out],
      evicting: [out],
    },
    { why: 'it is there', before: [at(NOW)], after: [out], evicting: [] },
    { why: 'NoSchedule evicts no pod', before: [], after: [{ ...out, effect: 'NoSchedule' }], evicting: [] },
    { why: 'nor does what goes', before: [out], after: [], evicting: [] },
  ])('is known by the taints before and after: $why', ({ before, after, evicting }) => {
    expect(evictingTaints(before, after)).toEqual(evicting);
  });

  it('gets its time, and nothing else does: every later leader reads it', () => {
    const other: Taint = { key: 'other', effect: 'NoSchedule' };
    const there = { ...at(NOW - MINUTE_MS), key: 'there' };
    const taints = withTimeAdded([there], [there, other, out], new Date(NOW + 999));
    expect(taints).toEqual([there, other, { ...out, timeAdded: '2026-01-01T12:00:00Z' }]);
    expect(evictionTimes(taints)).toEqual([NOW - MINUTE_MS, NOW]);
    const unchanged = [there, other];
    expect(withTimeAdded([there], unchanged, new Date(NOW))).toBe(unchanged);
  });

  it("counts neither Kubernetes' own taints, nor times that cannot be parsed", () => {
    const notReady = { ...at(NOW), key: 'node.kubernetes.io/not-ready' };
    expect(evictionTimes([notReady, out, { ...out, timeAdded: 'soon' }, { ...at(NOW), effect: 'NoSchedule' }])).toEqual(
      [],
    );
  });
});

describe('pods without a node', () => {
  const pod = (more: Partial<UnboundPod>): UnboundPod => ({
    name: 'default/web-1',
    createdAt: NOW + 1_000,
    controller: 'ReplicaSet',
    gated: false,
    ...more,
  });

  it.each<{ why: string; more: Partial<UnboundPod>; after?: number; counts: boolean }>([
    { why: 'it was made since', more: {}, counts: true },
    { why: 'in the same second', more: { createdAt: NOW }, counts: true },
    { why: 'the pod before it was tolerated for five minutes', more: { createdAt: NOW + 6 * MINUTE_MS }, counts: true },
    { why: 'by the clock of another API server', more: { createdAt: NOW - 2_000 }, counts: true },
    { why: 'it is older', more: { createdAt: NOW - 3_000 }, counts: false },
    { why: 'it is much younger', more: { createdAt: NOW + 11 * MINUTE_MS }, counts: false },
    { why: 'nothing makes such a pod anew', more: { controller: undefined }, counts: false },
    { why: 'a DaemonSet has its own on each node', more: { controller: 'DaemonSet' }, counts: false },
    { why: 'it asks to wait', more: { gated: true }, counts: false },
    { why: 'it has waited for nearly an hour', more: {}, after: 60 * MINUTE_MS, counts: true },
    { why: 'it has waited for an hour', more: {}, after: 60 * MINUTE_MS + 1_000, counts: false },
  ])('may stand for evicted ones, or not: $why', ({ more, after = 11 * MINUTE_MS, counts }) => {
    expect(displacedPods([pod(more)], [NOW - 3_600_000, NOW], NOW + after)).toEqual(counts ? ['default/web-1'] : []);
  });
});
