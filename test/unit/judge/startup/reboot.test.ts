import { describe, expect, it } from 'vitest';
import { formatStartupBoot, type NodeBoot, parseStartupBoot, validBootId } from '../../../../src/judge/node-boot.ts';
import {
  bootChange,
  bootStateOf,
  rebootBlockers,
  SETTLING_MS,
  settlesInMs,
  waitsSince,
  withOwnReboot,
} from '../../../../src/judge/startup/reboot.ts';

const A = 'f6b1c2a4-6a0f-4d0e-9a0b-0f9c5a1f0001';
const B = 'f6b1c2a4-6a0f-4d0e-9a0b-0f9c5a1f0002';
const NOW = Date.parse('2026-11-28T12:00:00Z');
const CREATED = NOW - 86_400_000;

describe('the annotation', () => {
  it.each([
    { why: 'the boot of the registration', text: A, boot: { bootId: A } },
    { why: 'a reboot', text: `${A} 2026-11-28T12:00:00Z`, boot: { bootId: A, setAt: NOW } },
    { why: 'a time that cannot be read counts as none', text: `${A} yesterday`, boot: { bootId: A } },
    { why: 'a day that does not exist', text: `${A} 2026-13-41T12:00:00Z`, boot: { bootId: A } },
    { why: 'more than a time', text: `${A} 2026-11-28T12:00:00Z x`, boot: { bootId: A } },
    { why: 'empty', text: '', boot: undefined },
    { why: 'a space first', text: ` ${A}`, boot: undefined },
    { why: 'no text', text: 7, boot: undefined },
    { why: 'longer than any boot ID', text: 'a'.repeat(129), boot: undefined },
    { why: 'as long as it is read', text: `${A} ${'x'.repeat(199 - A.length)}`, boot: { bootId: A } },
    { why: 'megabytes', text: `${A} ${'x'.repeat(1_000_000)}`, boot: undefined },
  ])('$why', ({ text, boot }) => {
    expect(parseStartupBoot(text)).toEqual(boot);
  });

  it.each([
    { why: 'no time', boot: { bootId: A }, text: A },
    { why: 'a time', boot: { bootId: A, setAt: NOW }, text: `${A} 2026-11-28T12:00:00Z` },
    { why: 'rounded up', boot: { bootId: A, setAt: NOW + 1 }, text: `${A} 2026-11-28T12:00:01Z` },
  ])('is written so that it reads alike: $why', ({ boot, text }) => {
    expect(formatStartupBoot(boot)).toBe(text);
    expect(parseStartupBoot(text)?.bootId).toBe(A);
  });

  it.each([
    { why: 'a UUID', text: A, valid: true },
    { why: 'of Windows: a counter', text: '17', valid: true },
    { why: 'empty, as before the first status', text: '', valid: false },
    { why: 'absent', text: undefined, valid: false },
    { why: 'a number', text: 17, valid: false },
    { why: 'a space, which would end it in the annotation', text: 'a b', valid: false },
    { why: 'a line break', text: 'a\n', valid: false },
    { why: 'as long as allowed', text: 'a'.repeat(128), valid: true },
    { why: 'longer', text: 'a'.repeat(129), valid: false },
  ])('has a boot ID: $why: $valid', ({ text, valid }) => {
    expect(validBootId(text)).toBe(valid ? text : undefined);
  });
});

const recorded = (setAt?: number) => ({ startupBoot: { bootId: A, ...(setAt === undefined ? {} : { setAt }) } });

interface Case {
  readonly why: string;
  readonly node: NodeBoot;
  readonly state: ReturnType<typeof bootStateOf>;
  /** What the leader writes into the annotation, after `Adopt` or `SetAgain`. */
  readonly writes?: string;
  /** How the taint stays; absent if `readyWhen` alone decides. */
  readonly waits?: string;
  /** In milliseconds. */
  readonly settlesIn?: number;
  /** How long the taint has waited, in milliseconds; the age of the Node if absent. */
  readonly waitedFor?: number;
}

const READY = { ready: true, bootId: A } as const;
const UNREADY = 'the node: it has not been Ready since its reboot';
const SETTLING = 'the kubelet: 30 seconds after the reboot for replacing what it reported before';

describe('a Node with a startup taint of afterReboot: SetAgain', () => {
  it.each<Case>([
    { why: 'it has just been created by no kubelet', node: {}, state: 'NotReported' },
    { why: 'the kubelet has not reported yet, after a restore', node: { ...recorded() }, state: 'NotReported' },
    {
      why: 'an existing node, or one that registered without the webhook',
      node: READY,
      state: 'NotRecorded',
      writes: `Adopt ${A}`,
    },
    { why: 'the boot of its registration', node: { ...READY, ...recorded() }, state: 'Recorded' },
    { why: 'the same, not Ready', node: { bootId: A, ...recorded() }, state: 'Recorded' },
    {
      why: 'it has rebooted',
      node: { ...READY, bootId: B, ...recorded() },
      state: 'Rebooted',
      writes: `SetAgain ${B} 2026-11-28T12:00:00Z`,
      waits: 'the leader: it has not recorded the reboot of the node yet',
      waitedFor: 0,
    },
    {
      why: 'it has rebooted again while it waited',
      node: { ...READY, bootId: B, ...recorded(NOW - 10_000) },
      state: 'Rebooted',
      writes: `SetAgain ${B} 2026-11-28T12:00:00Z`,
      waits: 'the leader: it has not recorded the reboot of the node yet',
      waitedFor: 0,
    },
    {
      why: 'the leader has written the reboot, and the node is not Ready',
      node: { bootId: A, ready: false, ...recorded(NOW - SETTLING_MS) },
      state: 'Recorded',
      waits: UNREADY,
      waitedFor: SETTLING_MS,
    },
    {
      why: 'it is not known to be Ready',
      node: { bootId: A, ...recorded(NOW - SETTLING_MS) },
      state: 'Recorded',
      waits: UNREADY,
      waitedFor: SETTLING_MS,
    },
    {
      why: 'one second is left',
      node: { ...READY, ...recorded(NOW - 29_000) },
      state: 'Recorded',
      waits: SETTLING,
      settlesIn: 1_000,
      waitedFor: 29_000,
    },
    {
      why: 'the time is over',
      node: { ...READY, ...recorded(NOW - SETTLING_MS) },
      state: 'Recorded',
      waitedFor: SETTLING_MS,
    },
    {
      why: 'a time in the future: the clock of the API server went back',
      node: { ...READY, ...recorded(NOW + 1_000) },
      state: 'Recorded',
      waits: SETTLING,
      settlesIn: SETTLING_MS + 1_000,
      waitedFor: -1_000,
    },
    {
      why: 'a time as far in the future as the clocks of API servers may differ',
      node: { ...READY, ...recorded(NOW + 600_000) },
      state: 'Recorded',
      waits: SETTLING,
      settlesIn: SETTLING_MS + 600_000,
      waitedFor: -600_000,
    },
    {
      why: 'a time that no leader has written, by a user who may patch nodes: the taint would stay until then',
      node: { ...READY, ...recorded(NOW + 3_600_000) },
      state: 'Recorded',
    },
  ])('$why', ({ node, state, writes, waits, settlesIn, waitedFor = NOW - CREATED }) => {
    expect(bootStateOf(node)).toBe(state);
    const change = bootChange(node, NOW);
    expect(change && `${change.kind} ${formatStartupBoot(change.startupBoot)}`).toBe(writes);
    expect(rebootBlockers(node, NOW)).toEqual(waits === undefined ? [] : [{ text: waits, state: 'Unmet' }]);
    expect(settlesInMs(node, NOW)).toBe(settlesIn);
    expect(NOW - waitsSince({ ...node, createdAt: CREATED }, NOW)).toBe(waitedFor);
  });

  it('counts from its creation where that is later than the reboot of an earlier Node of the name', () => {
    expect(waitsSince({ ...READY, ...recorded(NOW - 10_000), createdAt: NOW }, NOW)).toBe(NOW);
  });
});

describe('the time of a reboot that the leader itself has recorded', () => {
  const AHEAD = NOW + 3_600_000;

  it('counts in place of one that is far ahead', () => {
    const node: NodeBoot = { ...READY, ...recorded(AHEAD) };
    expect(withOwnReboot(node, 5_000, NOW)).toEqual({ ...READY, ...recorded(NOW - 5_000) });
  });

  it.each<{ why: string; node: NodeBoot; recordedMsAgo: number | undefined }>([
    { why: 'this leader has recorded none', node: { ...READY, ...recorded(AHEAD) }, recordedMsAgo: undefined },
    { why: 'the annotation has a time that can be right', node: { ...READY, ...recorded(NOW) }, recordedMsAgo: 5_000 },
    { why: 'there is no annotation', node: READY, recordedMsAgo: 5_000 },
    { why: 'it has no time', node: { ...READY, startupBoot: { bootId: B } }, recordedMsAgo: 5_000 },
  ])('does not count: $why', ({ node, recordedMsAgo }) => {
    expect(withOwnReboot(node, recordedMsAgo, NOW)).toBe(node);
  });
});
