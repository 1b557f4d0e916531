import type { Static } from 'typebox';
import * as Type from 'typebox';
import { DNS_LABEL, DNS_LABEL_LENGTH, DNS_SUBDOMAIN, QUALIFIED_NAME_LENGTH } from '../kubernetes/names.ts';
import { brokenConstraints, type Constraint, celValidations } from './constraint.ts';
import { ObjectName, QUALIFIED_NAME_CONSTRAINTS, QualifiedName } from './field-schemas.ts';
import type { Path, Problem } from './problem.ts';

/** The leader checks all of them on each node that waits. */
const MAX_ITEMS = 16;
const PROGRESS_DEADLINE_SECONDS = 600;

/** An extended resource, or huge pages of one size. Every node has the other resources from the beginning. */
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

const AllDaemonSetsSchema = Type.Object(
  {
    namespaces: Type.Optional(
      Type.Array(Type.String({ pattern: `^${DNS_LABEL}$`, maxLength: DNS_LABEL_LENGTH }), {
        description:
          'The namespaces of the DaemonSets. Without it, all: every user who may create a DaemonSet in any namespace can then keep new nodes from becoming ready.',
        minItems: 1,
        maxItems: MAX_ITEMS,
        uniqueItems: true,
      }),
    ),
    except: Type.Optional(
      Type.Array(ReadyDaemonSetSchema, {
        description: 'DaemonSets that are not waited for, such as one whose pods wait until the taint is removed.',
        ...listMap(['namespace', 'name']),
      }),
    ),
  },
  { additionalProperties: false },
);

/** The DaemonSets that a startup taint waits for if they run on the node. */
export type AllDaemonSets = Static<typeof AllDaemonSetsSchema>;

/** Whether the list names the DaemonSet. */
export function namesDaemonSet(list: readonly ReadyDaemonSet[], { namespace, name }: ReadyDaemonSet): boolean {
  return list.some((named) => named.namespace === namespace && named.name === name);
}

/** Whether a startup taint may wait for the DaemonSet: `readyWhen` names it, or it is one of `allDaemonSets`. */
export function mayWaitFor(
  { daemonSets, allDaemonSets }: Pick<ReadyParts, 'daemonSets' | 'allDaemonSets'>,
  daemonSet: ReadyDaemonSet,
): boolean {
  return namesDaemonSet(daemonSets, daemonSet) || allDaemonSets.some((all) => isAmong(all, daemonSet));
}

/** Whether a startup taint waits for the DaemonSet on the nodes where it runs. */
export function isAmong({ namespaces, except = [] }: AllDaemonSets, daemonSet: ReadyDaemonSet): boolean {
  return (namespaces === undefined || namespaces.includes(daemonSet.namespace)) && !namesDaemonSet(except, daemonSet);
}

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

/**
 * Whether a part of `readyWhen` that holds shows that the node is ready after its latest boot.
 * - `Present`: yes, because the part does not hold while nothing runs on the node.
 * - `None`: no, because there may be nothing to wait for. A node may have no DaemonSet of `allDaemonSets`.
 * - `Unknown`: no, because no field says from which boot the state is.
 */
const BOOT_OF_PART = {
  daemonSets: 'Present',
  allDaemonSets: 'None',
  conditions: 'Unknown',
  csiDrivers: 'Unknown',
  allocatable: 'Present',
} as const satisfies Record<keyof ReadyParts, string>;

type PartName = keyof typeof BOOT_OF_PART;

const PARTS = Object.keys(BOOT_OF_PART) as readonly PartName[];

/** The parts with this entry in {@link BOOT_OF_PART}. */
export function partsOfBoot(boot: 'Present' | 'Unknown'): readonly PartName[] {
  return PARTS.filter((part) => BOOT_OF_PART[part] === boot);
}

/** The fields that the constraint reads. */
type SomePart = Readonly<Partial<Record<PartName, unknown>>>;

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
          'created after the Node, or at most two seconds before, by other clocks. The revision of the pod does not matter. Delete an older pod: ' +
          'the DaemonSet creates another one. A DaemonSet that does not exist, or does not select the node, keeps the taint. Each must tolerate the taint.',
        ...listMap(LIST_KEYS.daemonSets),
      }),
    ),
    allDaemonSets: Type.Optional({
      ...AllDaemonSetsSchema,
      description:
        'All DaemonSets that run on the node must be ready there: those that select it by node selector and affinity, and tolerate the taints that it ' +
        'keeps. One that does not tolerate each taint of `ensure: UntilReady` on the node, or is being deleted, is not waited for, and the condition Ready names it. Nothing is judged ' +
        'while the node carries `karpenter.sh/unregistered`, `node.cloudprovider.kubernetes.io/uninitialized` or `node.cluster.x-k8s.io/uninitialized`, because labels are missing until then.',
    }),
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
          'The CSI drivers that must have registered with the kubelet: the CSINode of the Node lists them. The CSINode of an earlier Node of the same ' +
          'name does not count. If a node has no CSINode, restart its kubelet. It needs permission to list and watch CSINodes, which is off by default.',
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
          'After how many seconds since the creation of the Node one that still waits is reported, by an Event and the condition Stalled. With ' +
          'afterReboot: SetAgain, they count from the last reboot. If several policies have the taint, the shortest deadline reports.',
        format: 'int32',
        default: PROGRESS_DEADLINE_SECONDS,
        minimum: 1,
        maximum: 86_400,
      }),
    ),
    afterDeadline: Type.Optional(
      Type.Enum(['Keep', 'Remove'], {
        description:
          'What happens to the taint after `progressDeadlineSeconds`. Keep: it stays until `readyWhen` holds. Remove: the leader removes it, although ' +
          '`readyWhen` does not hold. It waits only until it has read what `readyWhen` depends on; a missing permission does not keep the taint. Where several ' +
          'policies have the taint, Keep wins, and the latest deadline counts.',
        default: 'Keep',
      }),
    ),
  },
  {
    description:
      'For ensure: UntilReady: when taintkeeper removes the taint from a node. All parts must hold, and at least one is required. If several ' +
      'policies have the same taint, all parts of all of them must hold. What the leader has not read, cannot read or may not read, and a field ' +
      'that this version does not know, keep the taint. A node that Karpenter has not registered yet keeps it, because Karpenter sets startupTaints again.',
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
    ...repeatedItems(readyWhen.allDaemonSets?.except, LIST_KEYS.daemonSets, [...path, 'allDaemonSets', 'except']),
    ...Object.entries(LIST_KEYS).flatMap(([part, keys]) =>
      repeatedItems(readyWhen[part as keyof typeof LIST_KEYS], keys, [...path, part]),
    ),
  ];
}

/** The items of a list that have the keys of an earlier one. The API server refuses them, too. */
function repeatedItems(items: readonly object[] | undefined, keys: readonly string[], path: Path): Problem[] {
  const seen = new Set<string>();
  const repeated = items?.flatMap((item, index): Problem[] => {
    const values = keys.map((key) => (item as Readonly<Record<string, unknown>>)[key]);
    const known = seen.size;
    if (seen.add(JSON.stringify(values)).size > known) return [];
    return [{ path: [...path, index], message: `Duplicate value: ${values.join('/')} is listed twice` }];
  });
  return repeated ?? [];
}

/** The parts of `readyWhen`, of one policy or of several together. All of them must hold. */
export interface ReadyParts {
  readonly daemonSets: readonly ReadyDaemonSet[];
  /** One for each policy. */
  readonly allDaemonSets: readonly AllDaemonSets[];
  readonly conditions: readonly ReadyCondition[];
  readonly csiDrivers: readonly ReadyCsiDriver[];
  readonly allocatable: readonly ReadyResource[];
}

export function partsOf({
  daemonSets = [],
  allDaemonSets,
  conditions = [],
  csiDrivers = [],
  allocatable = [],
}: ReadyWhen): ReadyParts {
  return { daemonSets, allDaemonSets: allDaemonSets ? [allDaemonSets] : [], conditions, csiDrivers, allocatable };
}

/** The parts of several policies together, with each item once. */
export function joinedParts(all: readonly ReadyParts[]): ReadyParts {
  return {
    daemonSets: once(all.flatMap(({ daemonSets }) => daemonSets)),
    allDaemonSets: once(all.flatMap(({ allDaemonSets }) => allDaemonSets)),
    conditions: once(all.flatMap(({ conditions }) => conditions.map((one) => ({ ...one, status: statusOf(one) })))),
    csiDrivers: once(all.flatMap(({ csiDrivers }) => csiDrivers)),
    allocatable: once(all.flatMap(({ allocatable }) => allocatable)),
  };
}

function once<Item>(items: readonly Item[]): Item[] {
  return [...new Map(items.map((item) => [JSON.stringify(item), item])).values()];
}

/** Whether DaemonSets and their pods are read for these parts. */
export function needDaemonSets({ daemonSets, allDaemonSets }: ReadyParts): boolean {
  return daemonSets.length + allDaemonSets.length > 0;
}

/** After how long the leader removes the taint although `readyWhen` does not hold. Undefined if it never does. */
export function removeAfterMsOf(readyWhen: ReadyWhen): number | undefined {
  return readyWhen.afterDeadline === 'Remove' ? progressDeadlineMsOf(readyWhen) : undefined;
}

/** How long a node may wait before it is reported. */
export function progressDeadlineMsOf({ progressDeadlineSeconds = PROGRESS_DEADLINE_SECONDS }: ReadyWhen): number {
  return 1_000 * progressDeadlineSeconds;
}

/** `NAMESPACE/NAME` */
export function daemonSetName({ namespace, name }: ReadyDaemonSet): string {
  return `${namespace}/${name}`;
}
