import { deepEqual, ok } from 'node:assert/strict';
import fc from 'fast-check';
import jsonPatch from 'fast-json-patch';
import { applyPatch } from 'rfc6902';
import { judgeRequest } from '../../src/admission/judge-request.ts';
import type { Operation } from '../../src/kubernetes/json-patch.ts';
import { keepPatch } from '../../src/page/patch-changes.ts';
import * as generate from '../unit/admission/generators.ts';
import { nodeCases, toNodeCase } from '../unit/admission/node-cases.ts';
import { daemonSetRequest } from '../unit/admission/requests.ts';
import { policySet } from '../unit/policy/policies.ts';
import { type FuzzTarget, target } from './target.ts';

/**
 * The object, patched: as the product does it, by fast-json-patch, and by another library, which has to agree. (What the API server's
 * own makes of the same patches, test/e2e/match-conditions.test.ts compares.)
 */
export function applied(object: unknown, patch: readonly Operation[]): unknown {
  const ours = jsonPatch.applyPatch(object, structuredClone([...patch]), true, false).newDocument;
  const [theirs, operations] = structuredClone([object, [...patch]]) as [unknown, Parameters<typeof applyPatch>[1]];
  deepEqual(
    applyPatch(theirs, operations),
    patch.map(() => null),
  );
  deepEqual(plain(ours), plain(theirs));
  return ours;
}

const daemonSets = fc.record({
  // Absent, null and empty are three things for a JSON patch, and one for Kubernetes.
  tolerations: fc.oneof(generate.tolerations, fc.constantFrom(undefined, null)),
  policies: generate.tolerationPolicies,
});

/** As JSON, without what the other library leaves out of values on purpose. */
function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value), (key, part) => (key === '__proto__' ? undefined : part));
}

/** The patches that the webhook makes, by two libraries, and what the page says of them. */
export const PATCHES: readonly FuzzTarget[] = [
  target('a patch of a Node', 2, nodeCases, (generated) => {
    const { request, compiled } = toNodeCase(generated);
    agreed(request.object, judgeRequest(request, 'mutate', compiled).patch);
  }),
  target('a patch of a DaemonSet', 1, daemonSets, ({ tolerations, policies }) => {
    const spec = { containers: [{ name: 'c' }], ...(tolerations === undefined ? {} : { tolerations }) };
    const object = { metadata: { name: 'cni' }, spec: { template: { spec } } };
    agreed(object, judgeRequest(daemonSetRequest({ object }), 'mutate', policySet({ toleration: policies })).patch);
  }),
];

function agreed(object: unknown, patch: readonly Operation[]): void {
  const patched = applied(object, patch);
  const kept = keepPatch(object, patch);
  ok(kept || JSON.stringify({ object, patch }).length > 8_192, 'a small patch is not kept');
  for (const { path, before, after } of kept?.() ?? []) {
    deepEqual([before, after], [asJson(valueAt(object, path)), asJson(valueAt(patched, path))]);
  }
}

/** As it is after it was JSON: objects that are generated have another prototype. */
function asJson(value: unknown): unknown {
  return value === undefined ? undefined : JSON.parse(JSON.stringify(value));
}

/** By the product's library, which knows pointers, too. */
function valueAt(object: unknown, pointer: string): unknown {
  return jsonPatch.getValueByPointer(object, pointer);
}
