import { X509Certificate } from 'node:crypto';
import { parseCertificates } from '../../src/certs/bundle.ts';
import { readBuiltinPolicies } from '../../src/files/builtin-policies.ts';
import { parsePolicies } from '../../src/files/policy-files.ts';
import { MERGE_PATCH } from '../control-plane/content-types.ts';
import { admin, developer } from '../control-plane/users.ts';
import { waitUntil } from '../control-plane/wait-until.ts';
import { eventsAbout, metricOf } from '../e2e/drift.ts';
import { leaderOf, readCertificates, readConfigurations } from '../e2e/installation.ts';
import { path } from '../e2e/nodes.ts';
import { POLICIES_PATH } from '../e2e/policy-resources.ts';
import { judgeAnswer, judgeError, type Told } from './judged-answer.ts';
import { lacking, listNodes } from './pools.ts';
import type { Site } from './site.ts';

const SETTLED_TIMEOUT_MS = 180_000;

const BUILTIN_POLICIES = parsePolicies(await readBuiltinPolicies()).map(({ name }) => name);

/** A policy as the API server has it, with what the leader says of it. */
export interface ReportedPolicy {
  readonly metadata: { readonly name: string; readonly generation: number };
  readonly status?: {
    readonly conditions?: readonly {
      readonly type: string;
      readonly status: string;
      readonly observedGeneration?: number;
    }[];
  };
}

/** The webhooks as they were first registered, without their caBundles; by site. */
const desired = new WeakMap<Site, string>();

/** Waits until taintkeeper is as it should be. @throws Error that says what still is not, after 3 minutes */
export async function waitUntilSettled(site: Site): Promise<void> {
  let complaint: string | undefined = '';
  await waitUntil(
    async () => {
      complaint = await unsettled(site).catch((error: Error) => error.message);
      return complaint === undefined ? true : undefined;
    },
    { timeoutMs: SETTLED_TIMEOUT_MS, otherwise: () => `the cluster does not recover: ${complaint}` },
  );
}

/** What is not as it should be, the first thing found; undefined when all is. */
async function unsettled(site: Site): Promise<string | undefined> {
  return (
    (await unreadyReplicas(site)) ??
    (await notInForce(site)) ??
    (await unregistered(site)) ??
    (await unprotected(site)) ??
    (await unledReplicas(site)) ??
    (await unrepaired(site))
  );
}

async function unreadyReplicas({ installation: { proxy, replicas } }: Site): Promise<string | undefined> {
  const ready = new Set(proxy.ready());
  const missing = [...replicas.keys()].filter((name) => !ready.has(name));
  return missing.length > 0 ? `replicas that are not ready: ${missing}` : undefined;
}

/** Policies follow each other into the webhooks at a distance: those that are created by default may come last. */
async function notInForce({ cp }: Site): Promise<string | undefined> {
  const answers = await Promise.all(
    [POLICIES_PATH.TaintPolicy, POLICIES_PATH.TolerationPolicy].map((url) =>
      cp.request<{ items: ReportedPolicy[] }>(admin, 'GET', url),
    ),
  );
  const refused = answers.find(({ status }) => status !== 200);
  if (refused) return `policies cannot be listed: ${refused.status}`;
  const found = answers.flatMap(({ body }) => body.items);
  const inForce = ({ metadata, status }: ReportedPolicy) =>
    status?.conditions?.some(
      (condition) =>
        condition.type === 'Ready' &&
        condition.status === 'True' &&
        condition.observedGeneration === metadata.generation,
    );
  const late = found.filter((policy) => !inForce(policy)).map(({ metadata }) => metadata.name);
  const missing = BUILTIN_POLICIES.filter((name) => !found.some(({ metadata }) => metadata.name === name));
  const names = [...missing, ...late];
  return names.length > 0 ? `policies that are not in force: ${names}` : undefined;
}

async function unledReplicas({ cp, installation }: Site): Promise<string | undefined> {
  const leader = installation.replicas.get(await leaderOf(cp));
  if (!leader) return 'no replica leads';
  return (await metricOf(leader, 'taintkeeper_leader')) === 1
    ? undefined
    : `${leader.name} does not know that it leads`;
}

/** Webhooks that are not those of the beginning, or that do not trust what the Secret holds. */
async function unregistered(site: Site): Promise<string | undefined> {
  const { data } = await readCertificates(site.cp);
  const text = (value: string | undefined) => Buffer.from(value ?? '', 'base64').toString();
  const cas = parseCertificates(text(data?.['ca.crt']));
  const leaf = text(data?.['tls.crt']);
  if (!leaf.includes('BEGIN') || !cas.some((ca) => new X509Certificate(leaf).verify(ca.publicKey)))
    return 'the Secret has no serving certificate of its CA';

  const configurations = await readConfigurations(site.cp);
  const webhooks = configurations.flatMap((configuration) => configuration.webhooks ?? []);
  if (webhooks.length === 0) return 'no webhook is registered';
  const found = JSON.stringify(webhooks, (field, value) => (field === 'caBundle' ? undefined : value));
  if (found !== (desired.get(site) ?? found)) return 'the webhooks are not those of the beginning';
  if (webhooks.some(({ clientConfig }) => clientConfig.caBundle !== data['ca.crt']))
    return 'there is a caBundle that is not the CA of the Secret';
  if (!(await unprotected(site))) desired.set(site, found);
  return undefined;
}

/** Dry runs: what must not be removed is not, in either way. */
async function unprotected({ cp, pools }: Site): Promise<string | undefined> {
  for (const [kind, pool] of [
    ['removal-denied', pools.deny],
    ['removal-restored', pools.restore],
  ] as const) {
    const node = (await listNodes(cp)).find(
      ({ metadata, spec }) => pool.nodes.includes(metadata.name) && lacking(pool, { metadata, spec }).length === 0,
    );
    if (!node) return `every node of ${pool.name} has lost its taints`;
    const body = { spec: { taints: null } };
    const request = { body, contentType: MERGE_PATCH };
    const judged = await cp.request<Told>(developer, 'PATCH', `${path(node.metadata.name)}?dryRun=All`, request).then(
      (answer) =>
        judgeAnswer(
          kind,
          answer,
          pool.taints.map(({ key }) => key),
        ),
      judgeError,
    );
    if (judged.result !== 'admitted' && judged.result !== 'refused')
      return `${kind} is ${judged.result} ${judged.why ?? ''}`;
  }
  return undefined;
}

/** Nodes that miss a required taint and have no TaintConflict Event. */
async function unrepaired({ cp, pools }: Site): Promise<string | undefined> {
  const pool = pools.restore;
  for (const node of await listNodes(cp)) {
    const { name } = node.metadata;
    if (!pool.nodes.includes(name) || lacking(pool, node).length === 0) continue;
    if ((await eventsAbout(cp, name, 'TaintConflict')).length === 0) return `${name} lacks ${lacking(pool, node)}`;
  }
  return undefined;
}
