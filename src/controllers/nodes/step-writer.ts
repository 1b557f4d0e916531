import { type ApiError, isFinal } from '../../cluster/client/api-error.ts';
import type { ClusterNode } from '../../cluster/objects/cluster-objects.ts';
import type { Entry } from '../../cluster/watch/cached-objects.ts';
import type { NodeStep } from '../../judge/node/node-step.ts';
import { separateSteps } from '../../judge/node/separate-steps.ts';
import type { DesiredNode } from '../../judge/node-view.ts';
import type { NodeEvents } from './node-events.ts';
import type { NodeWrite, NodeWriter } from './node-writer.ts';
import type { RememberedSteps } from './remembered-steps.ts';
import type { RepairProblems } from './repair-problems.ts';
import { policiesOf } from './startup/startup-changes.ts';
import type { StartupWaits } from './startup/startup-waits.ts';
import type { WriteFault } from './write-faults.ts';
import { type TaintChanges, taintChangesOf, writtenChanges } from './written-changes.ts';

type NodeEntry = Entry<ClusterNode>;

/** What takes part in the repair of a node. */
export interface RepairParts {
  readonly steps: RememberedSteps;
  readonly startup: StartupWaits;
  readonly writer: NodeWriter;
  readonly problems: RepairProblems;
  readonly nodeEvents: NodeEvents;
}

/** Whether the step is to be repeated soon: another client has changed the Node, or a part of the step had no effect. */
type Outcome = 'Done' | 'Repeat';

/**
 * Writes the changes of a step, all at once. If the API server refuses that, those of each kind are tried alone, until one is stored. The watch then shows a
 * newer version, and the others are tried again. Keeps the faults of writes without effect, until a later write stores the same changes, or they are not
 * needed any more.
 * @throws ApiError if the API server refuses to write all changes at once, or may accept them later
 */
export async function writeStep(entry: NodeEntry, step: NodeStep, parts: RepairParts): Promise<Outcome> {
  const { name } = entry;
  if (step.desired === undefined) {
    setFaults(name, step, [], parts);
    return 'Done';
  }
  const whole = await tryWrite(entry, step, step.desired, parts);
  if (whole.refusal) {
    const ineffective = await writeSeparately(entry, step, whole.ineffective, parts);
    if (ineffective) setFaults(name, step, ineffective, parts);
    throw whole.refusal;
  }
  const { outcome, ineffective } = whole;
  if (outcome === 'Outdated') return 'Repeat';
  if (outcome === 'Written') setFaults(name, step, ineffective ? [ineffective] : [], parts);
  return ineffective ? 'Repeat' : 'Done';
}

/** @returns what was not stored. Undefined if that is not known: the Node has changed */
async function writeSeparately(
  entry: NodeEntry,
  step: NodeStep,
  whole: Ineffective,
  parts: RepairParts,
): Promise<Ineffective[] | undefined> {
  const ineffective: Ineffective[] = [];
  const separate = separateSteps(entry.value, step);
  for (const [index, one] of separate.entries()) {
    const tried = await tryWrite(entry, one, one.desired, parts);
    if (tried.ineffective) ineffective.push(tried.ineffective);
    if (tried.refusal) continue;
    if (tried.outcome !== 'Written') return undefined;
    const untried = separate.slice(index + 1);
    return [...ineffective, ...untried.map((other) => ({ changes: taintChangesOf(other), fault: whole.fault }))];
  }
  return separate.length > 0 ? ineffective : [whole];
}

/** Changes that have no effect. */
interface Ineffective {
  readonly changes: TaintChanges;
  readonly fault: WriteFault;
}

interface Answered extends Pick<NodeWrite, 'outcome'> {
  /** What the API server has not stored. */
  readonly ineffective?: Ineffective;
  readonly refusal?: undefined;
}

/** The API server will refuse the same again. */
interface Refused {
  readonly ineffective: Ineffective;
  readonly refusal: ApiError;
}

/** @throws ApiError if the same write may succeed later */
async function tryWrite(
  entry: NodeEntry,
  step: NodeStep,
  desired: DesiredNode,
  parts: RepairParts,
): Promise<Answered | Refused> {
  const { steps, startup, writer, nodeEvents } = parts;
  const { name } = entry;
  const changes = taintChangesOf(step);
  let written: NodeWrite;
  try {
    written = await writer.write(entry, desired);
  } catch (error) {
    if (!isFinal(error)) throw error;
    return { refusal: error, ineffective: { changes, fault: { kind: 'Refused', error } } };
  }
  if (written.outcome !== 'Written') return { outcome: written.outcome };
  const { stored, undone } = writtenChanges(changes, name, desired.taints, written.taints);
  // It counts as a change that another writer undoes: the leader ends after some of them.
  steps.written(entry, step, undone?.startup.toSetAgain.map(({ taint }) => taint) ?? []);
  nodeEvents.recordWritten(entry, { set: stored.set, expired: step.expired });
  startup.recordWritten(entry, stored.startup);
  return { outcome: 'Written', ...(undone ? { ineffective: { changes: undone, fault: undone.fault } } : {}) };
}

/** @param ineffective all other changes were stored, or are not needed any more */
function setFaults(name: string, step: NodeStep, ineffective: readonly Ineffective[], parts: RepairParts): void {
  const { problems, startup } = parts;
  const required = ineffective.filter(({ changes }) => changes.set.length > 0);
  const ofStartup = ineffective.filter(({ changes }) => policiesOf(changes.startup).length > 0);
  const [first] = required;
  if (first) {
    const set = required.flatMap(({ changes }) => changes.set);
    problems.setWriteFault(name, set, first.fault);
  } else clearRepairFault(name, step, parts);
  const [firstOfStartup] = ofStartup;
  if (firstOfStartup) {
    const policies = ofStartup.flatMap(({ changes }) => policiesOf(changes.startup));
    startup.setWriteFault(name, policies, firstOfStartup.fault);
  } else clearStartupFault(name, step, parts);
}

/** Deletes the fault of required taints. In a conflict, its message may name the webhook that undoes the writes. */
function clearRepairFault(name: string, { drift }: NodeStep, { problems }: RepairParts): void {
  const inConflict = drift.missing.filter(({ blockedBy }) => blockedBy === 'Conflict');
  problems.clearWriteFault(
    name,
    inConflict.map(({ policy }) => policy.name),
  );
}

/** The same for startup taints. */
function clearStartupFault(name: string, { leftAlone }: NodeStep, { startup }: RepairParts): void {
  startup.clearWriteFault(
    name,
    leftAlone.flatMap(({ policyNames }) => policyNames),
  );
}
