import type { ServerResponse } from 'node:http';
import { expect } from 'vitest';
import { POLICY_API_PATH } from '../../../../src/cluster/policies/policy-paths.ts';
import { answer, startFakeApi } from '../client/fake-api.ts';

interface FakePolicy {
  readonly metadata: { readonly name: string; readonly resourceVersion: string };
}

/** An API server with TaintPolicies, and no other policies. */
export interface FakePolicies {
  readonly url: string;
  /** Stores the policy, or deletes it, and tells the watch that is open now, or the next one. */
  send(type: 'ADDED' | 'MODIFIED' | 'DELETED', policy: FakePolicy): Promise<void>;
}

export async function startFakePolicies(first: FakePolicy): Promise<FakePolicies> {
  const stored = new Map([[first.metadata.name, first]]);
  let resourceVersion = first.metadata.resourceVersion;
  let stream: ServerResponse | undefined;
  const api = await startFakeApi(({ path, query }, response) => {
    const isTaints = path === `${POLICY_API_PATH}/taintpolicies`;
    if (!query.watch) {
      return answer(response, { metadata: { resourceVersion }, items: isTaints ? [...stored.values()] : [] });
    }
    response.flushHeaders();
    if (!isTaints) return;
    stream = response;
    response.once('close', () => {
      if (stream === response) stream = undefined;
    });
  });
  return {
    url: api.url,
    async send(type, policy) {
      await expect.poll(() => stream).toBeDefined();
      ({ resourceVersion } = policy.metadata);
      if (type === 'DELETED') stored.delete(policy.metadata.name);
      else stored.set(policy.metadata.name, policy);
      stream?.write(`${JSON.stringify({ type, object: policy })}\n`);
    },
  };
}
