import { setTimeout as delay } from 'node:timers/promises';
import type { PolicyKind } from '../../src/policy/policy.ts';
import { JSON_PATCH, MERGE_PATCH } from '../control-plane/content-types.ts';
import { succeeded } from '../control-plane/rest.ts';
import { admin } from '../control-plane/users.ts';
import { waitUntil } from '../control-plane/wait-until.ts';
import { CERTIFICATES, configurationPath, LEASE } from '../e2e/installation.ts';
import { type PolicyObject, policyObject } from '../e2e/policy-objects.ts';
import { createPolicy, installCrds, POLICIES_PATH } from '../e2e/policy-resources.ts';
import { addFuture, admitAnySpec } from '../e2e/spoiled-definitions.ts';
import type { ReportedPolicy } from './settled.ts';
import type { Site } from './site.ts';

/** How long a policy is not as it should be. */
const SPOILED_MS = 3_000;
const STATUS_TIMEOUT_MS = 30_000;
const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const GONE_TIMEOUT_MS = 30_000;

/** Something that a person, or a tool of theirs, does to the objects that taintkeeper lives by. */
export interface Harm {
  readonly name: string;
  readonly what: string;
  /** Takes longer to get over than others: the monkey does it less often. */
  readonly rare?: boolean;
  harm(site: Site): Promise<void>;
}

const GARBAGE = { 'ca.crt': 'x', 'ca.key': 'x', 'tls.crt': 'x', 'tls.key': 'x' };

export const HARMS: readonly Harm[] = [
  { name: 'secret-deleted', what: 'the Secret is deleted', harm: (site) => remove(site, CERTIFICATES) },
  {
    name: 'secret-garbage',
    what: 'the Secret is filled with garbage',
    harm: (site) => merge(site, CERTIFICATES, { stringData: GARBAGE }),
  },
  {
    name: 'secret-halved',
    what: 'the Secret loses its CA key',
    harm: (site) => merge(site, CERTIFICATES, { data: { 'ca.key': null } }),
  },
  { name: 'lease-deleted', what: 'the Lease is deleted', harm: (site) => remove(site, LEASE) },
  {
    name: 'lease-stolen',
    what: 'the Lease names a holder that does not exist, for 15 s',
    rare: true,
    harm: (site) => {
      const renewTime = new Date().toISOString().replace('Z', '000Z');
      return merge(site, LEASE, { spec: { holderIdentity: 'nobody_0', leaseDurationSeconds: 15, renewTime } });
    },
  },
  ...(['mutating', 'validating'] as const).flatMap((kind): Harm[] => [
    {
      name: `${kind}-deleted`,
      what: `the ${kind} webhook configuration is deleted`,
      harm: (site) => remove(site, configurationPath(kind)),
    },
    {
      name: `${kind}-emptied`,
      what: `the ${kind} webhook configuration is emptied`,
      harm: (site) => merge(site, configurationPath(kind), { webhooks: [] }),
    },
    {
      name: `${kind}-overwritten`,
      what: `all of the ${kind} webhook configuration is overwritten: no caBundle, no conditions, failurePolicy Ignore, no such Service`,
      harm: (site) => overwrite(site, configurationPath(kind)),
    },
  ]),
  {
    name: 'crd-deleted',
    what: 'the CRD of TaintPolicy is deleted, its policies with it, and all of it applied again',
    rare: true,
    harm: (site) => replaceCrd(site, 'TaintPolicy'),
  },
  {
    name: 'other-crd-deleted',
    what: 'the CRD of TolerationPolicy is deleted, its policies with it, and all of it applied again',
    rare: true,
    harm: (site) => replaceCrd(site, 'TolerationPolicy'),
  },
  {
    name: 'policy-spoiled',
    what: 'a user edits a policy so that it is invalid, which an older definition admits, and repairs it after 3 s',
    harm: spoilPolicy,
  },
  {
    name: 'crd-newer',
    what: 'the CRD of TaintPolicy gets a field that taintkeeper does not know, and policies have it for a while',
    harm: useFuture,
  },
];

/** An object that is already missing is no error. */
async function remove({ cp }: Site, path: string): Promise<void> {
  expectDone(await cp.request(admin, 'DELETE', path), path);
}

async function merge({ cp }: Site, path: string, body: object): Promise<void> {
  expectDone(await cp.request(admin, 'PATCH', path, { body, contentType: MERGE_PATCH }), path);
}

function expectDone({ status, body }: { status: number; body: unknown }, path: string): void {
  if (status >= 300 && status !== 404) throw new Error(`${path}: ${status} ${JSON.stringify(body)}`);
}

interface Registered {
  webhooks?: { clientConfig: object; failurePolicy: string; matchConditions?: unknown }[];
}

async function overwrite({ cp }: Site, path: string): Promise<void> {
  const { status, body } = await cp.request<Registered>(admin, 'GET', path);
  if (status === 404) return;
  const service = { namespace: 'taintkeeper', name: 'no-such-service', port: 443, path: '/' };
  for (const webhook of body.webhooks ?? []) {
    Object.assign(webhook, { clientConfig: { service }, failurePolicy: 'Ignore', matchConditions: [] });
  }
  const answer = await cp.request(admin, 'PUT', path, { body });
  // Somebody has written it meanwhile: it is being put right already.
  if (answer.status !== 409) expectDone(answer, path);
}

/** As somebody does who notices at once, and has the policies in git. Until they are in force, nothing is protected. */
async function replaceCrd(site: Site, kind: PolicyKind): Promise<void> {
  const { cp } = site;
  const { body } = await cp.request<{ items: PolicyObject[] }>(admin, 'GET', POLICIES_PATH[kind]);
  site.suspend();
  const crd = `${CRDS}/${POLICIES_PATH[kind].split('/').at(-1)}.taintkeeper.dev`;
  await remove(site, crd);
  await waitUntil(async () => ((await cp.request(admin, 'GET', crd)).status === 404 ? true : undefined), {
    timeoutMs: GONE_TIMEOUT_MS,
    otherwise: () => `${crd} does not go`,
  });
  await installCrds(cp);
  for (const { metadata, spec } of body.items) {
    await succeeded(createPolicy(cp, policyObject(kind, metadata.name, spec)));
  }
}

async function spoilPolicy(site: Site): Promise<void> {
  const putRight = await admitAnySpec(site.cp);
  await edit(site, 'restore', [{ op: 'add', path: '/spec/taints/-', value: { key: 'readiness.k8s.io/*' } }], 'False');
  await edit(site, 'restore', [{ op: 'remove', path: '/spec/taints/2' }], 'True');
  await putRight();
}

async function useFuture(site: Site): Promise<void> {
  const putRight = await addFuture(site.cp);
  for (const name of ['deny', 'restore'])
    await edit(site, name, [{ op: 'add', path: '/spec/future', value: 'x' }], 'True');
  for (const name of ['deny', 'restore']) await edit(site, name, [{ op: 'remove', path: '/spec/future' }], 'True');
  await putRight();
}

/** Changes a TaintPolicy, and waits until the leader has said whether it is as it stands in force, and a while longer. */
async function edit({ cp }: Site, name: string, body: object[], ready: 'True' | 'False'): Promise<void> {
  const url = `${POLICIES_PATH.TaintPolicy}/${name}`;
  const { metadata } = await succeeded(
    cp.request<ReportedPolicy>(admin, 'PATCH', url, { body, contentType: JSON_PATCH }),
  );
  const { generation } = metadata;
  await waitUntil(
    async () => {
      const { conditions = [] } = (await cp.request<ReportedPolicy>(admin, 'GET', url)).body.status ?? {};
      const found = conditions.find(({ type }) => type === 'Ready');
      return (found?.status === ready && found.observedGeneration === generation) || undefined;
    },
    { timeoutMs: STATUS_TIMEOUT_MS, otherwise: () => `${name} is not Ready=${ready} at generation ${generation}` },
  );
  if (ready === 'False') await delay(SPOILED_MS);
}
