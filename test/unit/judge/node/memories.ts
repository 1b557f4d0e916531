import { memoryAfterWrite, type WrittenStep } from '../../../../src/judge/node/memory-after-write.ts';
import { type NodeMemory, newMemory } from '../../../../src/judge/node/node-memory.ts';
import type { NodeStep } from '../../../../src/judge/node/node-step.ts';
import { UNDO_BUDGET } from '../../../../src/judge/node/undone-changes.ts';
import type { UnstoredTaints } from '../../../../src/judge/node/unstored-taints.ts';
import type { StartupRequirement } from '../../../../src/judge/startup/startup-requirement.ts';
import { type Taint, taintIdentity } from '../../../../src/kubernetes/taint.ts';
import { partsOf } from '../../../../src/policy/ready-when.ts';
import { gpu } from '../request/node-updates.ts';

export const LATER = UNDO_BUDGET.windowMs;
export const memory = (more: Partial<NodeMemory> = {}): NodeMemory => ({ ...newMemory('u1'), ...more });
/** The leader has set the taint at these times. */
export const restored = (...times: number[]) =>
  memory({ changes: times.map((at) => ({ taint: gpu, change: 'set', at })) });
export const CONFLICTS = new Map([[taintIdentity(gpu), { taint: gpu, policyNames: ['p'] }]]);

export const ALL_STORED = { bootId: 'B', taints: [] } as const;

/** A step with these parts. */
export const writtenStep = (parts: Partial<WrittenStep>): WrittenStep => ({
  startup: { boot: undefined, toSetAgain: [], waiting: [] },
  expired: [],
  revoked: [],
  changes: [],
  ...parts,
});

/** A startup taint that is set again after a reboot. */
export const setAgain = (taint: Taint): StartupRequirement => ({
  taint,
  policyNames: ['p'],
  parts: partsOf({}),
  unknownParts: [],
  progressDeadlineMs: 600_000,
  removeAfterMs: undefined,
  setsAgain: true,
});

/**
 * The memory after the step was written.
 * @param unstored what the API server has not stored of it
 */
export function memoryAfterStep(step: NodeStep, now: number, unstored: UnstoredTaints = ALL_STORED): NodeMemory {
  return memoryAfterWrite(step.memoryIfUnwritten, step, now, unstored);
}

export function memoryAfterChanges(memory: NodeMemory, changes: WrittenStep['changes'], now: number): NodeMemory {
  return memoryAfterWrite(memory, writtenStep({ changes }), now, ALL_STORED);
}

export function memoryAfterReboot(memory: NodeMemory, taints: readonly Taint[], now: number): NodeMemory {
  const boot = { kind: 'SetAgain', startupBoot: { bootId: 'B', setAt: now } } as const;
  const startup = { boot, toSetAgain: taints.map(setAgain), waiting: [] };
  return memoryAfterWrite(memory, writtenStep({ startup }), now, ALL_STORED);
}
