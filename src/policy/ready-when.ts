import type { Static } from 'typebox';
import * as Type from 'typebox';
import type { Path, Problem } from './problem.ts';
import { brokenConstraints, type Constraint, celValidations, ObjectName } from './schema.ts';

/** The leader checks all of them on each node that waits. */
const MAX_ITEMS = 16;
const PROGRESS_DEADLINE_SECONDS = 600;

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

/** The keys of each part that is a list. */
const LIST_KEYS = { daemonSets: ['namespace', 'name'] } as const;

/** The parts of `readyWhen` that hold or do not hold on a node. */
const PARTS = ['daemonSets'] as const;

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
}

export function partsOf({ daemonSets = [] }: ReadyWhen): ReadyParts {
  return { daemonSets };
}

/** The parts of several policies together: each item once. */
export function joinedParts(all: readonly ReadyParts[]): ReadyParts {
  return { daemonSets: once(all.flatMap(({ daemonSets }) => daemonSets)) };
}

function once<Item>(items: readonly Item[]): Item[] {
  return [...new Map(items.map((item) => [JSON.stringify(item), item])).values()];
}

/** How long a node may wait before it is reported. */
export function progressDeadlineMsOf({ progressDeadlineSeconds = PROGRESS_DEADLINE_SECONDS }: ReadyWhen): number {
  return 1_000 * progressDeadlineSeconds;
}
