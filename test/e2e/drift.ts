import { expect } from 'vitest';
import type { PolicyStatus } from '../../src/policy/reporting/policy-status.ts';
import type { AuditEvent } from '../control-plane/audit-log.ts';
import { MERGE_PATCH } from '../control-plane/content-types.ts';
import type { ControlPlane } from '../control-plane/control-plane.ts';
import { type Replica, taintkeeperAccount } from '../control-plane/replicas.ts';
import { admin, type User } from '../control-plane/users.ts';
import { waitUntil } from '../control-plane/wait-until.ts';
import { type Attempt, attempt, path, type Taint, taintsOf } from './nodes.ts';
import { policyObject } from './policy-objects.ts';
import { createPolicy, POLICIES_PATH } from './policy-resources.ts';

const TIMEOUT_MS = 30_000;

/** Creates a policy in mode Restore for the nodes with the label `pool=NAME`, unless said otherwise. */
export async function createTaintPolicy(cp: ControlPlane, name: string, spec: object) {
  const nodeSelector = { matchLabels: { pool: name } };
  const { status, body } = await createPolicy(
    cp,
    policyObject('TaintPolicy', name, { mode: 'Restore', nodeSelector, ...spec }),
  );
  expect(status, body.message).toBe(201);
}

async function statusOf(cp: ControlPlane, policy: string): Promise<PolicyStatus | undefined> {
  const { body } = await cp.request<{ status?: PolicyStatus }>(admin, 'GET', `${POLICIES_PATH.TaintPolicy}/${policy}`);
  return body.status;
}

export async function waitForStatus(
  cp: ControlPlane,
  policy: string,
  isRight: (status: PolicyStatus) => boolean,
): Promise<PolicyStatus> {
  let last: PolicyStatus | undefined;
  return waitUntil(
    async () => {
      last = await statusOf(cp, policy);
      return last && isRight(last) ? last : undefined;
    },
    { timeoutMs: TIMEOUT_MS, otherwise: () => `the status of ${policy} is ${JSON.stringify(last)}` },
  );
}

/** The API server turns away what is too much at once. */
const AT_ONCE = 50;

/** Does something for each of many nodes, some at once. */
export async function forEachNode(names: readonly string[], work: (name: string) => Promise<void>): Promise<void> {
  for (let first = 0; first < names.length; first += AT_ONCE) {
    await Promise.all(names.slice(first, first + AT_ONCE).map(work));
  }
}

/** Creates nodes, as an admin. */
export async function createNodes(
  cp: ControlPlane,
  names: readonly string[],
  pool: string,
  taints: readonly Taint[] = [],
) {
  await forEachNode(names, async (name) => {
    const body = { metadata: { name, labels: { pool } }, spec: { taints } };
    expect(await attempt(cp, admin, 'POST', '/api/v1/nodes', body)).toMatchObject({ passed: true, error: '' });
  });
}

/** Merges something into a node. */
export function patchNode(cp: ControlPlane, user: User, name: string, body: object): Promise<Attempt> {
  return attempt(cp, user, 'PATCH', path(name), body, MERGE_PATCH);
}

/** Waits until the node has exactly these taints, Kubernetes' own left out, in any order. */
export async function waitForTaints(cp: ControlPlane, name: string, ...expected: readonly string[]): Promise<void> {
  let last: readonly string[] = [];
  await waitUntil(
    async () => {
      last = await taintsOf(cp, name);
      return last.toSorted().join() === expected.toSorted().join() ? true : undefined;
    },
    { timeoutMs: TIMEOUT_MS, otherwise: () => `${name} has [${last}], not [${expected}]` },
  );
}

/** Waits until a node has exactly that value of an annotation; without one, until it does not have the annotation. */
export async function waitForAnnotation(
  cp: ControlPlane,
  name: string,
  annotation: string,
  expected: string | undefined,
): Promise<void> {
  let last: string | undefined;
  await waitUntil(
    async () => {
      const { status, body } = await cp.request<{ metadata: { annotations?: Record<string, string> } }>(
        admin,
        'GET',
        path(name),
      );
      if (status !== 200) return undefined;
      last = body.metadata.annotations?.[annotation];
      return last === expected ? true : undefined;
    },
    { timeoutMs: TIMEOUT_MS, otherwise: () => `${annotation} of ${name} is ${last}, not ${expected}` },
  );
}

/** Waits until the API server asks taintkeeper about removals of the taint: a dry run gets it back. */
export async function waitUntilRestored(cp: ControlPlane, name: string, key: string): Promise<void> {
  let last: unknown;
  await waitUntil(
    async () => {
      const { body } = await cp.request<{ spec?: { taints?: Taint[] } }>(admin, 'PATCH', `${path(name)}?dryRun=All`, {
        body: { spec: { taints: null } },
        contentType: MERGE_PATCH,
      });
      // Of a node that is being written all the time, it may be a conflict.
      last = body.spec?.taints ?? body;
      return body.spec?.taints?.some((taint) => taint.key === key) || undefined;
    },
    { timeoutMs: TIMEOUT_MS, otherwise: () => `taint ${key} of ${name} is not put back: ${JSON.stringify(last)}` },
  );
}

/**
 * What taintkeeper has tried to write to nodes outside of requests, each as `NAME STATUS`, in the order of the audit log.
 *
 * @param since leaves out requests that the API server got earlier, in milliseconds since the epoch. The API server logs a request after a
 * watch has shown its effect: a count of events does not tell earlier requests from later ones
 */
export function writesOf(cp: ControlPlane, since = 0): string[] {
  return ownWrites(cp)
    .filter(({ requestReceivedTimestamp }) => Date.parse(requestReceivedTimestamp) >= since)
    .map(({ objectRef, responseStatus }) => `${objectRef?.name} ${responseStatus?.code}`);
}

/** Those writes that are of taints, by their nodes. */
export interface Repairs {
  readonly passed: readonly string[];
  /** They came too late. */
  readonly conflicts: readonly string[];
}

export function repairsOf(cp: ControlPlane): Repairs {
  const writes = ownWrites(cp).filter(
    ({ requestObject }) => (requestObject as { spec?: { taints?: unknown } }).spec?.taints !== undefined,
  );
  const withStatus = (status: number) =>
    writes
      .filter(({ responseStatus }) => responseStatus?.code === status)
      .map(({ objectRef }) => objectRef?.name ?? '');
  return { passed: withStatus(200), conflicts: withStatus(409) };
}

function ownWrites(cp: ControlPlane): AuditEvent[] {
  return cp
    .auditLog()
    .filter(({ user, objectRef }) => user.username === taintkeeperAccount.name && objectRef?.resource === 'nodes');
}

/** An Event as far as the tests look at it. */
export interface StoredEvent {
  readonly regarding: { readonly kind: string; readonly name: string };
  readonly type: string;
  readonly reason: string;
  readonly note: string;
  readonly series?: { readonly count: number };
}

export async function eventsAbout(cp: ControlPlane, name: string, reason: string): Promise<StoredEvent[]> {
  const { body } = await cp.request<{ items: StoredEvent[] }>(
    admin,
    'GET',
    '/apis/events.k8s.io/v1/namespaces/default/events',
  );
  return body.items.filter((event) => event.regarding.name === name && event.reason === reason);
}

export function waitForEvent(cp: ControlPlane, name: string, reason: string): Promise<StoredEvent> {
  return waitUntil(async () => (await eventsAbout(cp, name, reason))[0], {
    timeoutMs: TIMEOUT_MS,
    otherwise: () => `no Event ${reason} about ${name}`,
  });
}

/** The value of a metric, by its name and labels as they are written; undefined where it is not there. */
export async function metricOf(replica: Replica, series: string): Promise<number | undefined> {
  const line = (await replica.metrics()).split('\n').find((text) => text.startsWith(`${series} `));
  return line === undefined ? undefined : Number(line.slice(series.length + 1));
}
