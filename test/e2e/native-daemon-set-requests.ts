import { isDeepStrictEqual } from 'node:util';
import { expect } from 'vitest';
import type { Admission } from '../../src/admission/simulate-admission.ts';
import { atMost } from '../../src/kubernetes/text.ts';
import type { ControlPlane } from '../control-plane/control-plane.ts';
import { type Answer, succeeded } from '../control-plane/rest.ts';
import { admin, developer } from '../control-plane/users.ts';
import { inCase } from '../in-case.ts';
import { type DaemonSetState, PLACES, type Request } from './native-daemon-set-cases.ts';

interface DaemonSet {
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly spec: { readonly template: { readonly spec: { readonly tolerations?: readonly object[] } } };
}

const pathOf = (namespace: string) => `/apis/apps/v1/namespaces/${namespace}/daemonsets`;

/** Brings the DaemonSets into their states, unseen by the policies. */
export async function store(cp: ControlPlane, states: readonly DaemonSetState[]): Promise<void> {
  for (const [index, { namespace, name }] of PLACES.entries()) {
    const state = states[index];
    if (!state) continue;
    const path = `${pathOf(namespace)}/${name}`;
    const live = await cp.request<DaemonSet>(admin, 'GET', path);
    await succeeded(
      live.status === 404
        ? cp.request(admin, 'POST', pathOf(namespace), { body: daemonSet({ name }, state) })
        : cp.request(admin, 'PUT', path, { body: daemonSet(live.body.metadata, state) }),
    );
  }
}

/** Makes the request with dryRun: as the admin, whom the policies pass by, and as somebody else. */
export async function make(cp: ControlPlane, request: Request) {
  const { namespace, name, state } = request;
  const path = `${pathOf(namespace)}/${name}`;
  const old = request.what === 'update' ? (await cp.request<DaemonSet>(admin, 'GET', path)).body : undefined;
  const metadata =
    old?.metadata ?? (request.what === 'create' && request.by === 'generateName' ? { generateName: name } : { name });
  const send = (user: typeof admin) =>
    cp.request<DaemonSet>(user, old ? 'PUT' : 'POST', `${old ? path : pathOf(namespace)}?dryRun=All`, {
      body: daemonSet(metadata, state),
    });
  const plain = await send(admin);
  // Not everything that is generated is valid.
  if (plain.status >= 400) return undefined;
  const { name: generated, ...unnamed } = plain.body.metadata;
  return {
    answer: await send(developer),
    request: {
      uid: 'as-good-as-any',
      resource: { group: 'apps', version: 'v1', resource: 'daemonsets' },
      namespace,
      operation: old ? 'UPDATE' : 'CREATE',
      // The name is made after admission.
      object: 'generateName' in metadata ? { ...plain.body, metadata: unnamed } : plain.body,
      oldObject: old ?? null,
      generated,
    },
  } as const;
}

/** Compares what the API server did with what the engine says. */
export function check({ request, answer }: { request: object; answer: Answer<DaemonSet> }, admission: Admission): void {
  inCase(
    () => ({ request, answer, admission }),
    () => {
      expect(answer.status).toBeLessThan(300);
      const expectedTolerations = tolerationsOf(admission.object as DaemonSet);
      const got = tolerationsOf(answer.body);
      if (!isDeepStrictEqual(got, expectedTolerations)) expect(got).toEqual(expectedTolerations);
      expect(answer.warnings.toSorted()).toEqual(warningsOf(admission).toSorted());
    },
  );
}

/** What the API server says in place of the webhook: one warning for each policy. */
function warningsOf({ violations }: Admission): string[] {
  const left = violations.filter(({ result }) => result !== 'Added');
  return [...Map.groupBy(left, ({ policy }) => policy)].map(([policy, found]) => {
    const name = `${policy}.report-tolerations.taintkeeper.dev`;
    const [mode, then] =
      found[0]?.mode === 'Audit' ? [', Audit', ''] : ['', '; added with the next change of the pod template'];
    const subjects = found.map(({ subject }) => subject);
    // An addition does not repair what ends too early.
    const end = subjects.some((subject) => / without tolerationSeconds$| for -?\d+ s$/.test(subject)) ? '' : then;
    return `Validation failed for ValidatingAdmissionPolicy '${name}' with binding '${name}': TolerationPolicy ${policy}${mode}: missing tolerations: ${atMost(8, subjects).join(', ')}${end}`;
  });
}

/** The API server leaves out what is empty. */
function tolerationsOf({ spec }: DaemonSet): object[] {
  return (spec.template.spec.tolerations ?? []).map((toleration) =>
    Object.fromEntries(Object.entries(toleration).filter(([, value]) => value !== '')),
  );
}

function daemonSet(metadata: object, { labels, annotations, tolerations, image, hostNetwork }: DaemonSetState): object {
  const selector = { app: 'a' };
  return {
    metadata: { ...metadata, labels, annotations },
    spec: {
      selector: { matchLabels: selector },
      template: {
        metadata: { labels: selector },
        spec: { containers: [{ name: 'c', image }], hostNetwork, tolerations },
      },
    },
  };
}
