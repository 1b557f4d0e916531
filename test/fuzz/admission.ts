import { deepEqual, equal, ok } from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { Writable } from 'node:stream';
import fc from 'fast-check';
import { pino } from 'pino';
import { parse } from 'yaml';
import { eventsOf } from '../../src/admission/request-events.ts';
import { issueCa, issueServing } from '../../src/certs/issue.ts';
import { parsePolicies } from '../../src/files/policy-files.ts';
import { createDecisionLog } from '../../src/page/decision-log.ts';
import { compilePolicies } from '../../src/policy/policy-set.ts';
import { createMetrics } from '../../src/replica/metrics.ts';
import { createAdmissionServer } from '../../src/server/admission-server.ts';
import { hostileValue } from './hostile.ts';
import { mutatedJson } from './mutated.ts';
import { applied } from './patches.ts';
import { printable } from './printable.ts';
import { type FuzzTarget, target } from './target.ts';

const POLICIES = `
apiVersion: taintkeeper.dev/v1alpha1
kind: TaintPolicy
metadata: { name: refusing }
spec:
  mode: Deny
  nodeSelector: { matchExpressions: [{ key: spare, operator: DoesNotExist }] }
  taints: [{ key: node-role.kubernetes.io/control-plane }, { key: 'example.com/*' }]
  exempt: { users: ['system:serviceaccount:*:autoscaler'], groups: ['*:admins'] }
---
apiVersion: taintkeeper.dev/v1alpha1
kind: TaintPolicy
metadata: { name: restoring }
spec:
  mode: Restore
  taints:
    - { key: dedicated, value: gpu, effect: NoSchedule, ensure: Always }
    - { key: evicting, effect: NoExecute, ensure: Always }
    - { key: 'example.com/*', except: ['example.com/a'] }
---
apiVersion: taintkeeper.dev/v1alpha1
kind: TaintPolicy
metadata: { name: watching }
spec: { mode: Audit, removalByAnnotation: Forbidden, taints: [{ key: 'example.com/*', effect: NoSchedule }] }
---
apiVersion: taintkeeper.dev/v1alpha1
kind: TolerationPolicy
metadata: { name: tolerating }
spec: { mode: Mutate, daemonSets: { namespaces: ['kube-*'], names: ['*'] } }
`;

const read = (file: string) => readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');
const { log, lines } = captured();
const decisions = createDecisionLog({ replica: 'fuzz', capacity: 1 });
export const compiled = compilePolicies(parsePolicies([{ name: 'fuzz', text: POLICIES }]));
export const tls = await issueServing(await issueCa(new Date()), ['localhost'], new Date());
const server = createAdmissionServer({
  tls,
  policies: () => compiled,
  metrics: createMetrics('fuzz'),
  log,
  // As in a cluster, and with somebody looking at the page.
  onJudged(judged) {
    for (const { note } of eventsOf(judged.request, judged.judgement)) printable(note ?? '', 'an Event');
    decisions.record(judged);
    for (const { view } of decisions.latest()) JSON.stringify(view());
  },
});

const removal = JSON.parse(read('examples/remove-control-plane-taint.json')) as { request: Record<string, unknown> };
export const reviewOf = (request: object) => ({ ...removal, request: { ...removal.request, ...request } });
export const nodeOf = (taints: object[], annotations = {}) => ({
  ...{ apiVersion: 'v1', kind: 'Node' },
  metadata: {
    name: 'cp-1',
    labels: { pool: 'gpu' },
    annotations: { 'volumes.kubernetes.io/a': 'true', ...annotations },
  },
  spec: { podCIDR: '10.0.0.0/24', taints },
  status: { images: [{ names: ['a', 'b'], sizeBytes: 1 }], conditions: [{ type: 'Ready', status: 'True' }] },
});
const TAINTS = [
  { key: 'dedicated', value: 'gpu', effect: 'NoSchedule' },
  { key: 'example.com/a', effect: 'NoExecute', timeAdded: '2026-01-01T00:00:00Z' },
];
const ANNOUNCED = { 'taintkeeper.dev/allow-removal': 'dedicated=gpu:NoSchedule' };
const daemonSet = parse(read('demo/kube-flannel.yaml')) as object;
const aboutDaemonSet = {
  resource: { group: 'apps', version: 'v1', resource: 'daemonsets' },
  ...{ namespace: 'kube-flannel', name: 'kube-flannel-ds', object: daemonSet },
};

const REAL = new URL('reviews/', import.meta.url);

/** What API servers send: as one of 1.36 did, and cut down to what is looked at, so that more of the changes are there. */
export const REVIEWS: readonly unknown[] = [
  ...readdirSync(REAL).map((file): unknown => JSON.parse(readFileSync(new URL(file, REAL), 'utf8'))),
  removal,
  reviewOf({ object: nodeOf([]), oldObject: nodeOf(TAINTS) }),
  reviewOf({ object: nodeOf([{ ...TAINTS[0], value: 'cpu' }]), oldObject: nodeOf(TAINTS) }),
  reviewOf({ object: nodeOf([], ANNOUNCED), oldObject: nodeOf(TAINTS, ANNOUNCED) }),
  reviewOf({ operation: 'CREATE', object: nodeOf([]), oldObject: null }),
  reviewOf({ ...aboutDaemonSet, operation: 'CREATE', oldObject: null }),
  reviewOf({ ...aboutDaemonSet, oldObject: { ...daemonSet, spec: { template: { spec: {} } } } }),
];

const path = fc.constantFrom('/validate', '/mutate');

/** The webhook's two paths, by the code that answers the API server. */
export const ADMISSION: readonly FuzzTarget[] = [
  target(
    'a body of any bytes',
    1,
    fc.record({
      path,
      type: fc.oneof(fc.constantFrom('application/json', 'text/plain', ';;'), fc.string({ unit: 'grapheme-ascii' })),
      body: fc.uint8Array({ maxLength: 200 }),
    }),
    ({ path, type, body }) => answered(path, Buffer.from(body), type.replaceAll(/[^\x20-\x7E]/g, '')),
  ),
  target('a body of any JSON', 2, fc.record({ path, body: hostileValue }), ({ path, body }) =>
    answered(path, Buffer.from(JSON.stringify(body))),
  ),
  target('a review that was changed', 6, fc.record({ path, body: mutatedJson(REVIEWS) }), ({ path, body }) =>
    answered(path, Buffer.from(JSON.stringify(body))),
  ),
];

/** Posts the body, and looks at the answer: a review for a review, an error for everything else, and never a fault of ours. */
async function answered(url: string, body: Buffer, type = 'application/json'): Promise<void> {
  const { statusCode, payload } = await server.inject({
    method: 'POST',
    url,
    payload: body,
    headers: { 'content-type': type },
  });
  for (const line of lines()) {
    printable(line.slice(0, -1), 'a log line');
    ok(line.endsWith('\n'));
    JSON.parse(line);
  }
  const answer = JSON.parse(payload) as { error?: unknown; response?: Response };
  ok(statusCode === 200 || (statusCode >= 400 && statusCode < 500), `status ${statusCode}: ${payload}`);
  if (answer.response === undefined) {
    equal(typeof answer.error, 'string');
    ok(statusCode !== 200);
    return;
  }

  const { request } = JSON.parse(body.toString()) as { request: { uid: string; object?: unknown } };
  const { uid, allowed, status, patch, patchType, warnings = [], auditAnnotations = {} } = answer.response;
  equal(uid, request.uid);
  equal(allowed, status === undefined);
  if (statusCode !== 200) equal(status?.code, statusCode);
  if (statusCode === 200 && status) printable(status.message, 'a refusal');
  for (const warning of warnings) {
    printable(warning, 'a warning');
    ok([...warning].length <= 120, warning);
  }
  ok(Object.values(auditAnnotations).every((value) => typeof value === 'string'));
  equal(patchType, patch === undefined ? undefined : 'JSONPatch');
  if (patch === undefined) return;
  equal(url, '/mutate');
  const operations = JSON.parse(Buffer.from(patch, 'base64').toString());
  const patched = applied(request.object, operations);
  deepEqual(withoutOurs(patched), withoutOurs(request.object));
}

interface Response {
  readonly uid: string;
  readonly allowed: boolean;
  readonly status?: { readonly code: number; readonly message: string };
  readonly patch?: string;
  readonly patchType?: string;
  readonly warnings?: string[];
  readonly auditAnnotations?: Record<string, unknown>;
}

/** What of an object is none of the webhook's business. */
function withoutOurs(object: unknown): unknown {
  const copy = structuredClone(object) as {
    metadata?: { annotations?: Record<string, unknown> | null };
    spec?: { taints?: unknown; template?: { spec?: { tolerations?: unknown } } } | null;
  };
  const { annotations } = copy.metadata ?? {};
  delete annotations?.['taintkeeper.dev/allow-removal'];
  if (copy.metadata && Object.keys(annotations ?? {}).length === 0) delete copy.metadata.annotations;
  delete copy.spec?.taints;
  delete copy.spec?.template?.spec?.tolerations;
  if (Object.keys(copy.spec ?? {}).length === 0) delete copy.spec;
  return copy;
}

/** A log as production has it, and what it wrote since it was last looked at, write by write. */
function captured() {
  let written: string[] = [];
  const sink = new Writable({
    write(chunk, _encoding, done) {
      written.push(String(chunk));
      done();
    },
  });
  return {
    log: pino({ level: 'info', base: null }, sink),
    lines() {
      const found = written;
      written = [];
      return found;
    },
  };
}
