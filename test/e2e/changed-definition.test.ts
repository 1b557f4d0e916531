import { pino } from 'pino';
import { expect, it, onTestFinished } from 'vitest';
import { connect } from '../../src/cluster/client/api-client.ts';
import { watchPolicies } from '../../src/cluster/policies/policies.ts';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { succeeded } from '../control-plane/rest.ts';
import { admin } from '../control-plane/users.ts';
import { waitUntil } from '../control-plane/wait-until.ts';
import { install } from './installation.ts';
import { policyObject } from './policy-objects.ts';
import { POLICIES_PATH } from './policy-resources.ts';
import { addReadyWhenField } from './spoiled-definitions.ts';

const TIMEOUT_MS = 10_000;

describeWithControlPlane('a definition that gets a field', {}, (cp) => {
  it('is read of the next policy, although the watch began with the earlier definition', async () => {
    const installation = await install(cp());
    onTestFinished(installation.stop);
    const client = await connect({ kubeconfig: await cp().kubeconfigFile(admin), userAgent: 'test' });
    onTestFinished(client.close);
    const policies = watchPolicies({ client, audit: false, onState() {}, log: pino({ level: 'silent' }) });
    onTestFinished(async () => void (await policies.stop()));
    await policies.synced;
    const create = (name: string, readyWhen: object) => {
      const rule = { key: `example.com/${name}`, effect: 'NoSchedule', ensure: 'UntilReady', readyWhen };
      const body = policyObject('TaintPolicy', name, { mode: 'Restore', taints: [rule] });
      return succeeded(cp().request(admin, 'POST', POLICIES_PATH.TaintPolicy, { body }));
    };
    // The watch is open before the definition changes.
    await create('first', { conditions: [{ type: 'A' }] });
    await waitUntil(() => policies.snapshot().policies.some(({ name }) => name === 'first') || undefined, {
      timeoutMs: TIMEOUT_MS,
      otherwise: () => 'the first policy is not in force',
    });
    /** What this version does not know of the policy, in each snapshot that has it. */
    const seen: (readonly string[])[] = [];
    policies.changes.subscribe(() => {
      for (const { name, untilReady } of policies.snapshot().compiled.taintPolicies) {
        if (name === 'new') seen.push(untilReady.flatMap(({ unknownParts }) => unknownParts));
      }
    });

    await addReadyWhenField(cp(), 'future');
    await create('new', { conditions: [{ type: 'A' }], future: true });
    await waitUntil(() => (seen.length > 0 ? true : undefined), {
      timeoutMs: TIMEOUT_MS,
      otherwise: () => 'the policy is not in force',
    });
    expect(seen).toEqual([['spec.taints[0].readyWhen.future']]);
  });
});
