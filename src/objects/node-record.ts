import * as Type from 'typebox';
import {
  BLOCKED_REASONS,
  MAX_BLOCKED_MESSAGE,
  MAX_RECORDED_POLICIES,
  MAX_RECORDED_TAINTS,
  MAX_STARTUP_TAINTS,
  type NodeRecord,
  type RecordedTaint,
  STARTUP_STATES,
} from '../judge/node-record.ts';
import { DNS_SUBDOMAIN_LENGTH, LABEL_VALUE_LENGTH, QUALIFIED_NAME_LENGTH } from '../kubernetes/label-selector.ts';
import { MACHINE_ID_LENGTH } from '../kubernetes/machine.ts';
import { rfc3339 } from '../kubernetes/time.ts';
import { reader } from './object-meta.ts';

export const NODE_RECORD_KIND = 'NodeTaintRecord';

const Time = (description: string) => Type.Optional(Type.String({ description, format: 'date-time' }));

const TaintSchema = Type.Object({
  key: Type.String({ description: 'The key of the taint.', minLength: 1, maxLength: QUALIFIED_NAME_LENGTH }),
  value: Type.Optional(
    Type.String({ description: 'The value of the taint, if it has one.', maxLength: LABEL_VALUE_LENGTH }),
  ),
  effect: Type.String({
    description: 'The effect of the taint: NoSchedule, PreferNoSchedule or NoExecute.',
    maxLength: LABEL_VALUE_LENGTH,
  }),
  policies: Type.Optional(
    Type.Array(Type.String({ maxLength: DNS_SUBDOMAIN_LENGTH }), {
      description: 'The TaintPolicies by which the taint is recorded.',
      maxItems: MAX_RECORDED_POLICIES,
      'x-kubernetes-list-type': 'set',
    }),
  ),
  state: Type.Optional(
    Type.Enum(['Missing', 'Removed'], {
      description:
        'Missing: the Node should carry the taint and does not, since it registered again or for five seconds. Removed: a required taint was ' +
        'removed by an exempt user, or as the annotation allow-removal said, and is not set again. Without a state, the ' +
        'Node carries the taint, carried it when it was deleted, or is about to get it back.',
    }),
  ),
  lastChangeTime: Time('Since when the taint is missing, or when its removal was recorded.'),
  earlierNodeDeletionTime: Time(
    'Set where an earlier Node of this name carried the taint, and the Node that registered after it has not got it back: ' +
      'when the earlier Node was deleted. With `deletedNodeRetentionSeconds`, the time from then on counts.',
  ),
  blocked: Type.Optional(
    Type.Object(
      {
        // Not an enumeration: a replica of an earlier version has to read the record.
        reason: Type.String({ description: `The cause: ${BLOCKED_REASONS.join(', ')}.`, maxLength: 64 }),
        message: Type.String({ description: 'The cause, for people.', maxLength: MAX_BLOCKED_MESSAGE }),
      },
      { description: 'Why a missing taint is not restored.' },
    ),
  ),
});

const StartupTaintSchema = Type.Object({
  key: Type.String({ description: 'The key of the taint.', minLength: 1, maxLength: QUALIFIED_NAME_LENGTH }),
  effect: Type.String({ description: 'The effect of the taint.', maxLength: LABEL_VALUE_LENGTH }),
  state: Type.Enum([...STARTUP_STATES], {
    description:
      'Waiting: the Node carries the taint. Ready: taintkeeper is about to remove it. Removed: it was removed. Missed: the ' +
      'Node registered without it. A taint that is Removed or Missed is never set again on this Node.',
  }),
  policies: Type.Array(Type.String({ maxLength: DNS_SUBDOMAIN_LENGTH }), {
    description: 'The TaintPolicies that required the taint.',
    maxItems: MAX_RECORDED_POLICIES,
    'x-kubernetes-list-type': 'set',
  }),
  lastChangeTime: Type.String({ description: 'When the state became what it is.', format: 'date-time' }),
});

/** The fields of a NodeTaintRecord: the source of the definition and of the check of read objects. */
export const NODE_RECORD_PROPERTIES = {
  node: Type.Object(
    {
      uid: Type.String({ description: 'metadata.uid of the Node.', maxLength: 128 }),
      providerID: Type.Optional(
        Type.String({ description: 'spec.providerID of the Node, if it has one.', maxLength: MACHINE_ID_LENGTH }),
      ),
      systemUUID: Type.Optional(
        Type.String({
          description: 'status.nodeInfo.systemUUID of the Node, if it has one.',
          maxLength: MACHINE_ID_LENGTH,
        }),
      ),
    },
    {
      description:
        'The Node that the record is about. A Node that registers later under the same name gets the taints only if ' +
        'neither providerID nor systemUUID says that it is another machine.',
    },
  ),
  nodeDeletionTime: Time('When the leader saw that the Node was deleted. Not set while the Node exists.'),
  taints: Type.Array(TaintSchema, {
    description:
      'The taints that the Node is to carry. The leader restores only these, and those that a policy requires. With ' +
      '`deletedNodeRetentionSeconds` in a policy, the Node also gets them back when it is deleted and registers again.',
    maxItems: MAX_RECORDED_TAINTS,
    'x-kubernetes-list-type': 'map',
    'x-kubernetes-list-map-keys': ['key', 'effect'],
  }),
  startupTaints: Type.Optional(
    Type.Array(StartupTaintSchema, {
      description: 'The taints of ensure: UntilReady that were set on this Node, or that it registered without.',
      maxItems: MAX_STARTUP_TAINTS,
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['key', 'effect'],
    }),
  ),
};

const asRecord = reader(Type.Object(NODE_RECORD_PROPERTIES));

/** @param absent the value of absent fields: null in a merge patch, which removes them */
export function recordFields({ uid, machine, taints, deletedAt, startup }: NodeRecord, absent: null | undefined) {
  return {
    node: { uid, providerID: machine.providerID || absent, systemUUID: machine.systemUUID || absent },
    nodeDeletionTime: deletedAt === undefined ? absent : rfc3339(deletedAt),
    taints: taints.map(({ value, earlierDeletedAt, missingSince, removedAt, blocked, ...taint }) => ({
      ...taint,
      ...(value === '' ? {} : { value }),
      ...stateFields('Missing', missingSince ?? earlierDeletedAt),
      ...stateFields('Removed', removedAt),
      ...(earlierDeletedAt === undefined ? {} : { earlierNodeDeletionTime: rfc3339(earlierDeletedAt) }),
      ...(blocked === undefined ? {} : { blocked }),
    })),
    startupTaints:
      startup?.map(({ since, ...one }) => ({ ...one, policies: [...one.policies], lastChangeTime: rfc3339(since) })) ??
      absent,
  };
}

/**
 * Reads the object.
 * @throws MalformedObjectError; Error for an invalid time
 */
export function viewRecord(object: unknown): NodeRecord {
  const { node, nodeDeletionTime, taints, startupTaints } = asRecord(object, []);
  const { uid, providerID = '', systemUUID = '' } = node;
  return {
    uid,
    machine: { systemUUID, providerID },
    taints: taints.map(
      ({
        key,
        value = '',
        effect,
        policies = [],
        state,
        lastChangeTime,
        earlierNodeDeletionTime,
        blocked,
      }): RecordedTaint => {
        const since = lastChangeTime === undefined ? 0 : parseTime(lastChangeTime);
        const earlier = earlierNodeDeletionTime === undefined ? undefined : parseTime(earlierNodeDeletionTime);
        return {
          ...{ key, value, effect, policies },
          ...(earlier === undefined ? {} : { earlierDeletedAt: earlier }),
          ...(state === 'Missing' && since !== earlier ? { missingSince: since } : {}),
          ...(state === 'Removed' ? { removedAt: since } : {}),
          ...(blocked === undefined ? {} : { blocked }),
        };
      },
    ),
    ...(nodeDeletionTime === undefined ? {} : { deletedAt: parseTime(nodeDeletionTime) }),
    ...(startupTaints === undefined
      ? {}
      : {
          startup: startupTaints.map(({ lastChangeTime, ...one }) => ({ ...one, since: parseTime(lastChangeTime) })),
        }),
  };
}

function stateFields(state: 'Missing' | 'Removed', since: number | undefined) {
  return since === undefined ? {} : { state, lastChangeTime: rfc3339(since) };
}

function parseTime(text: string): number {
  const time = Date.parse(text);
  if (Number.isNaN(time)) throw new Error(`not a time: ${text}`);
  return time;
}
