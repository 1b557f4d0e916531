import type { Lever } from './lever.ts';
import { addBackstop, changePolicy, changeWebhooks, setTolerationSeconds, setTrafficDistribution } from './set.ts';

/** One request at a time, and as many at once as a busy API server has. */
const ONE = { clients: 1, perSecond: 10 };
const MANY = { clients: 16, perSecond: 2 };
const asItIs = async () => {};

/** All of them, in the order of the table. */
export const LEVERS: readonly Lever[] = [
  { name: 'one', what: 'the defaults, one request at a time', load: ONE, set: asItIs, called: 'n2' },
  { name: 'many', what: 'the defaults, 16 requests at a time', load: MANY, set: asItIs, called: 'n2' },
  ...[1, 5].map(
    (seconds): Lever => ({
      name: `timeout-${seconds}`,
      what: `\`timeoutSeconds: ${seconds}\` in place of 2`,
      load: MANY,
      set: (cluster) =>
        changeWebhooks(cluster, (webhooks) => webhooks.map((one) => ({ ...one, timeoutSeconds: seconds }))),
      called: 'n2',
    }),
  ),
  {
    name: 'asked-once',
    what: 'removals are validated, not mutated',
    load: MANY,
    set: (cluster) =>
      changeWebhooks(cluster, (webhooks) => webhooks.filter(({ name }) => name !== 'restore.taintkeeper.dev')),
    called: 'n2',
  },
  {
    name: 'ignore',
    what: '`failurePolicy: Ignore`',
    load: MANY,
    set: (cluster) => changePolicy(cluster, { failurePolicy: 'Ignore' }),
    called: 'n2',
  },
  { name: 'backstop', what: '`backstop: Native`', load: MANY, set: addBackstop, called: 'n2' },
  {
    name: 'ignore-backstop',
    what: '`failurePolicy: Ignore` and `backstop: Native`',
    load: MANY,
    async set(cluster) {
      await changePolicy(cluster, { failurePolicy: 'Ignore' });
      await addBackstop(cluster);
    },
    called: 'n2',
  },
  {
    name: 'same-node',
    what: "`trafficDistribution: PreferSameNode`, with a replica on the API server's node",
    load: MANY,
    set: (cluster) => setTrafficDistribution(cluster, 'PreferSameNode'),
    called: 'n1',
  },
  ...[60, 20, 0].map(
    (seconds): Lever => ({
      name: `evict-${seconds}`,
      what: `\`tolerationSeconds: ${seconds}\`${seconds === 20 ? ', the default' : ''}`,
      load: ONE,
      set: (cluster) => setTolerationSeconds(cluster, seconds),
      called: 'n2',
      untilReplaced: true,
    }),
  ),
];
