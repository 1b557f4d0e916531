import fc from 'fast-check';
import { isMapping } from '../../../src/kubernetes/json.ts';

// Nodes and DaemonSets as large as etcd accepts, in every place where an object can be made large.

/** --max-request-bytes of etcd, by default. */
const ETCD_BYTES = 1.5 * 1024 * 1024;

/** What Go's encoder spells out, as HTML might take it for markup. A run of one character is one match: some have a million. */
const GO_ESCAPED = /<+|>+|&+|\u2028+|\u2029+/g;

/** JSON as the API server writes it. */
export function goJson(value: unknown): string {
  return JSON.stringify(value).replace(GO_ESCAPED, (run) => {
    const code = run.charCodeAt(0).toString(16).padStart(4, '0');
    return `\\u${code}`.repeat(run.length);
  });
}

/** A place that can be filled: with so many bytes of etcd's, of which a unit takes some. */
interface Padding {
  readonly what: string;
  readonly unitBytes: number;
  /** Part of an object, with so many units in that place. */
  readonly padded: (units: number) => Fields;
  /** The most bytes that the API server lets stand there. */
  readonly mostBytes?: number;
}

type Fields = { [name: string]: unknown };

const times = <Item>(count: number, make: (index: number) => Item) => Array.from({ length: count }, (_, n) => make(n));
/** Four characters, others for each number. */
const key = (number: number) => `k${number.toString(36).padStart(3, '0')}`;
const labels = (count: number) => Object.fromEntries(times(count, (n) => [key(n), '']));
const inMetadata = (metadata: Fields) => ({ metadata });
const inSpec = (spec: Fields) => ({ spec });
const inStatus = (status: Fields) => ({ status });
const inPods = (spec: Fields) => inSpec({ template: { spec } });

const EVERY_OBJECT: readonly Padding[] = [
  {
    what: 'an annotation of commas',
    unitBytes: 1,
    mostBytes: 250_000,
    padded: (units) => inMetadata({ annotations: { commas: ','.repeat(units) } }),
  },
  {
    what: 'an annotation of "<"',
    unitBytes: 1,
    mostBytes: 250_000,
    padded: (units) => inMetadata({ annotations: { less: '<'.repeat(units) } }),
  },
  { what: 'labels', unitBytes: 10, padded: (units) => inMetadata({ labels: labels(units) }) },
  {
    what: 'owners',
    unitBytes: 14,
    padded: (units) =>
      inMetadata({ ownerReferences: times(units, () => ({ apiVersion: 'v', kind: 'k', name: 'n', uid: 'u' })) }),
  },
  {
    what: 'managed fields',
    unitBytes: 10,
    padded: (units) => {
      const fieldsV1 = Object.fromEntries(times(units, (n) => [`f:${n.toString(36)}`, {}]));
      return inMetadata({ managedFields: [{ manager: 'm', operation: 'Update', fieldsType: 'FieldsV1', fieldsV1 }] });
    },
  },
];

const NODES: readonly Padding[] = [
  ...EVERY_OBJECT,
  {
    what: 'taints',
    unitBytes: 21,
    padded: (units) => inSpec({ taints: times(units, (n) => ({ key: key(n), effect: 'NoExecute' })) }),
  },
  { what: 'a provider ID of "<"', unitBytes: 1, padded: (units) => inSpec({ providerID: '<'.repeat(units) }) },
  {
    what: 'empty conditions',
    unitBytes: 14,
    padded: (units) => {
      const empty = { type: '', status: '', lastHeartbeatTime: null, lastTransitionTime: null };
      return inStatus({ conditions: times(units, () => empty) });
    },
  },
  {
    what: 'a condition of control characters',
    unitBytes: 1,
    padded: (units) => inStatus({ conditions: [{ type: 'T', status: 'True', message: '\u0001'.repeat(units) }] }),
  },
  {
    what: 'empty images',
    unitBytes: 4,
    padded: (units) => inStatus({ images: times(units, () => ({ names: null })) }),
  },
  {
    what: 'empty names of an image',
    unitBytes: 2,
    padded: (units) => inStatus({ images: [{ names: times(units, () => '') }] }),
  },
  {
    what: 'runtime handlers with features',
    unitBytes: 10,
    padded: (units) => {
      const features = { recursiveReadOnlyMounts: false, userNamespaces: false };
      return inStatus({ runtimeHandlers: times(units, () => ({ name: '', features })) });
    },
  },
  {
    what: 'empty addresses',
    unitBytes: 6,
    padded: (units) => inStatus({ addresses: times(units, () => ({ type: '', address: '' })) }),
  },
  {
    what: 'empty volumes',
    unitBytes: 6,
    padded: (units) => inStatus({ volumesAttached: times(units, () => ({ name: '', devicePath: '' })) }),
  },
  {
    what: 'a machine ID of "&"',
    unitBytes: 1,
    padded: (units) => inStatus({ nodeInfo: { machineID: '&'.repeat(units), systemUUID: 'u' } }),
  },
];

const DAEMON_SETS: readonly Padding[] = [
  ...EVERY_OBJECT,
  {
    what: 'empty terms of the node affinity',
    unitBytes: 2,
    padded: (units) => {
      const nodeSelectorTerms = times(units, () => ({}));
      const nodeAffinity = { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } };
      return inPods({ affinity: { nodeAffinity } });
    },
  },
  {
    what: 'environment variables',
    unitBytes: 7,
    padded: (units) => inPods({ containers: [{ name: 'e', env: times(units, () => ({ name: 'a' })) }] }),
  },
  {
    what: 'empty arguments',
    unitBytes: 2,
    padded: (units) => inPods({ containers: [{ name: 'a', args: times(units, () => '') }] }),
  },
  {
    what: 'labels of the pods',
    unitBytes: 10,
    padded: (units) => inSpec({ template: { metadata: { labels: labels(units) } } }),
  },
  {
    what: 'a script of "<"',
    unitBytes: 1,
    padded: (units) => inPods({ containers: [{ name: 's', command: ['<'.repeat(units)] }] }),
  },
];

/** A share of what etcd accepts for each of some places. */
const shares = (paddings: readonly Padding[]) =>
  fc
    .uniqueArray(fc.record({ padding: fc.constantFrom(...paddings), weight: fc.integer({ min: 1, max: 4 }) }), {
      selector: ({ padding }) => padding.what,
      minLength: 1,
      maxLength: 3,
    })
    .map((chosen) => {
      const sum = chosen.reduce((total, { weight }) => total + weight, 0);
      return chosen.map(({ padding, weight }) => ({ padding, share: weight / sum }));
    });

export type Shares = readonly { readonly padding: Padding; readonly share: number }[];

/** What has been filled, for whoever reads of a failure. */
export const describeShares = (chosen: Shares) =>
  chosen.map(({ padding, share }) => `${Math.round(share * 100)} % ${padding.what}`).join(', ');

/**
 * Fills objects as far as etcd accepts them. All of them share what they are filled with: it takes half a second to make a map of 150,000
 * labels.
 */
export function filling(chosen: Shares): <Filled extends object>(object: Filled) => Filled {
  const parts = chosen.map(({ padding, share }) => {
    const bytes = Math.min(ETCD_BYTES * share, padding.mostBytes ?? ETCD_BYTES);
    return padding.padded(Math.floor(bytes / padding.unitBytes));
  });
  return <Filled extends object>(object: Filled) => parts.reduce<unknown>(merged, object) as Filled;
}

/** Both: maps are merged, lists follow each other. */
function merged(one: unknown, other: unknown): unknown {
  if (Array.isArray(one) && Array.isArray(other)) return [...other, ...one];
  if (!isMapping(one) || !isMapping(other)) return other;
  const shared = Object.keys(other).filter((name) => Object.hasOwn(one, name));
  return { ...one, ...other, ...Object.fromEntries(shared.map((name) => [name, merged(one[name], other[name])])) };
}

export const nodeShares = shares(NODES);
export const daemonSetShares = shares(DAEMON_SETS);
/** Each place alone, filled as far as can be. */
export const NODE_EXTREMES: readonly Shares[] = NODES.map((padding) => [{ padding, share: 1 }]);
export const DAEMON_SET_EXTREMES: readonly Shares[] = DAEMON_SETS.map((padding) => [{ padding, share: 1 }]);
