import type { Static } from 'typebox';
import * as Type from 'typebox';
import { DNS_SUBDOMAIN, QUALIFIED_NAME_LENGTH } from '../kubernetes/label-selector.ts';
import type { Path, Problem } from './problem.ts';
import {
  brokenConstraints,
  type Constraint,
  celValidations,
  ObjectName,
  QUALIFIED_NAME_CONSTRAINTS,
  QualifiedName,
} from './schema.ts';

/** The leader checks all of them on each node that waits. */
const MAX_ITEMS = 16;
const PROGRESS_DEADLINE_SECONDS = 600;

/** An extended resource, or huge pages of one size: every node has the others at once. */
const READY_RESOURCE = `^(${DNS_SUBDOMAIN}/([A-Za-z0-9][-A-Za-z0-9_.]{0,61})?[A-Za-z0-9]|hugepages-[0-9]+[A-Za-z]*)$`;
const MATCHES_READY_RESOURCE = new RegExp(READY_RESOURCE);

/** Whether `readyWhen.allocatable` can name the resource. */
export function isReadyResource(name: string): boolean {
  return MATCHES_READY_RESOURCE.test(name);
}

/** A list of objects, of which no two have the same values of the keys. Items of the list can get more fields later. */
const listMap = (keys: readonly string[]) => ({
  minItems: 1,
  maxItems: MAX_ITEMS,
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': [...keys],
});

const ReadyDaemonSetSchema = Type.Object(
  {
    namespace: { ...ObjectName, description: 'The namespace of the DaemonSet.' },
    name: { ...ObjectName, description: 'The name of the DaemonSet.' },
  },
  { additionalProperties: false },
);

/** A DaemonSet that a startup taint waits for. */
export type ReadyDaemonSet = Static<typeof ReadyDaemonSetSchema>;

const ConditionSchema = Type.Object(
  {
    type: QualifiedName('The type of the condition, for example `example.com/NetworkReady`.'),
    status: Type.Optional(
      Type.Enum(['True', 'False', 'Unknown'], {
        description: 'The status that the condition must have.',
        default: 'True',
      }),
    ),
  },
  { additionalProperties: false },
);

/** A condition of the Node that a startup taint waits for. */
export type ReadyCondition = Static<typeof ConditionSchema>;

export function statusOf({ status = 'True' }: ReadyCondition): 'True' | 'False' | 'Unknown' {
  return status;
}

const ResourceSchema = Type.Object(
  {
    resource: Type.String({
      description: 'The name of the resource, `DOMAIN/NAME` or `hugepages-SIZE`.',
      pattern: READY_RESOURCE,
      maxLength: QUALIFIED_NAME_LENGTH,
    }),
  },
  { additionalProperties: false },
);

/** A resource of the Node that a startup taint waits for. */
export type ReadyResource = Static<typeof ResourceSchema>;

const CsiDriverSchema = Type.Object(
  { name: { ...ObjectName, description: 'The name of the driver, for example `ebs.csi.aws.com`.' } },
  { additionalProperties: false },
);

/** A CSI driver that a startup taint waits for. */
export type ReadyCsiDriver = Static<typeof CsiDriverSchema>;

/** The keys of each part that is a list. */
const LIST_KEYS = {
  daemonSets: ['namespace', 'name'],
  conditions: ['type'],
  csiDrivers: ['name'],
  allocatable: ['resource'],
} as const;

/** The parts of `readyWhen` that hold or do not hold on a node. */
const PARTS = ['daemonSets', 'conditions', 'csiDrivers', 'allocatable'] as const;

/** What the constraint reads. */
type SomePart = Readonly<Partial<Record<(typeof PARTS)[number], unknown>>>;

const NEEDS_PART: Constraint<SomePart> = {
  holds: (readyWhen) => PARTS.some((part) => readyWhen[part] !== undefined),
  cel: PARTS.map((part) => `has(self.${part})`).join(' || '),
  message: `readyWhen needs at least one of ${PARTS.join(', ')}`,
};

export const ReadyWhenSchema = Type.Object(
  {
    daemonSets: Type.Optional(
      Type.Array(ReadyDaemonSetSchema, {
        description:
          'The DaemonSets that must be ready on the node. One is ready if it has a Ready pod on the node that is not being deleted and was ' +
          'created after the Node (two seconds of tolerance), of any revision. A DaemonSet that does not exist, or does not select the node, keeps the taint. Each ' +
          'must tolerate the taint.',
        ...listMap(LIST_KEYS.daemonSets),
      }),
    ),
    conditions: Type.Optional(
      Type.Array(ConditionSchema, {
        description:
          'The conditions that the Node must have, such as those that Node Problem Detector or an agent writes. One that the Node does not have never holds.',
        ...listMap(LIST_KEYS.conditions),
      }),
    ),
    csiDrivers: Type.Optional(
      Type.Array(CsiDriverSchema, {
        description:
          'The CSI drivers that must have registered with the kubelet: the CSINode of the Node lists them. It needs permission to list and watch CSINodes, which is off by default.',
        ...listMap(LIST_KEYS.csiDrivers),
      }),
    ),
    allocatable: Type.Optional(
      Type.Array(ResourceSchema, {
        description:
          'The resources of which `status.allocatable` of the Node must have more than zero, such as those of a device plugin.',
        ...listMap(LIST_KEYS.allocatable),
      }),
    ),
    progressDeadlineSeconds: Type.Optional(
      Type.Integer({
        description:
          'After how many seconds a node that still waits is reported, by an Event and the condition Stalled. The taint stays.',
        format: 'int32',
        default: PROGRESS_DEADLINE_SECONDS,
        minimum: 1,
        maximum: 86_400,
      }),
    ),
  },
  {
    description:
      'For ensure: UntilReady: when taintkeeper removes the taint from a node. All parts must hold, and at least one is required.',
    additionalProperties: false,
    ...celValidations([NEEDS_PART]),
  },
);

export type ReadyWhen = Static<typeof ReadyWhenSchema>;

/**
 * The problems of `readyWhen` that its schema cannot express.
 * @param hasUnknownPart whether it has a part that this version does not know, which counts as one
 */
export function checkReadyWhen(readyWhen: ReadyWhen, path: Path, hasUnknownPart: boolean): Problem[] {
  return [
    ...(hasUnknownPart ? [] : brokenConstraints([NEEDS_PART], readyWhen, path)),
    ...(readyWhen.conditions ?? []).flatMap(({ type }, index) =>
      brokenConstraints(QUALIFIED_NAME_CONSTRAINTS, type, [...path, 'conditions', index, 'type']),
    ),
    ...Object.entries(LIST_KEYS).flatMap(([part, keys]) =>
      repeatedItems(readyWhen[part as keyof typeof LIST_KEYS] ?? [], keys, [...path, part]),
    ),
  ];
}

/** The items of a list that have the keys of an earlier one. The API server refuses them, too. */
function repeatedItems(items: readonly object[], keys: readonly string[], path: Path): Problem[] {
  const seen = new Set<string>();
  return items.flatMap((item, index): Problem[] => {
    const values = keys.map((key) => (item as Readonly<Record<string, unknown>>)[key]);
    const known = seen.size;
    if (seen.add(JSON.stringify(values)).size > known) return [];
    return [{ path: [...path, index], message: `Duplicate value: ${values.join('/')} is listed twice` }];
  });
}

/** The parts of `readyWhen`, of one policy or of several together. All of them must hold. */
export interface ReadyParts {
  readonly daemonSets: readonly ReadyDaemonSet[];
  readonly conditions: readonly ReadyCondition[];
  readonly csiDrivers: readonly ReadyCsiDriver[];
  readonly allocatable: readonly ReadyResource[];
}

export function partsOf({
  daemonSets = [],
  conditions = [],
  csiDrivers = [],
  allocatable = [],
}: ReadyWhen): ReadyParts {
  return { daemonSets, conditions, csiDrivers, allocatable };
}

/** The parts of several policies together: each item once. */
export function joinedParts(all: readonly ReadyParts[]): ReadyParts {
  return {
    daemonSets: once(all.flatMap(({ daemonSets }) => daemonSets)),
    conditions: once(all.flatMap(({ conditions }) => conditions.map((one) => ({ ...one, status: statusOf(one) })))),
    csiDrivers: once(all.flatMap(({ csiDrivers }) => csiDrivers)),
    allocatable: once(all.flatMap(({ allocatable }) => allocatable)),
  };
}

function once<Item>(items: readonly Item[]): Item[] {
  return [...new Map(items.map((item) => [JSON.stringify(item), item])).values()];
}

/** Whether DaemonSets and their pods are read for these parts. */
export function needDaemonSets({ daemonSets }: ReadyParts): boolean {
  return daemonSets.length > 0;
}

/** How long a node may wait before it is reported. */
export function progressDeadlineMsOf({ progressDeadlineSeconds = PROGRESS_DEADLINE_SECONDS }: ReadyWhen): number {
  return 1_000 * progressDeadlineSeconds;
}
