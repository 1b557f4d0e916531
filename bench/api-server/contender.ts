import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseAllDocuments } from 'yaml';
import { parsePolicies, readPolicyFiles } from '../../src/files/policy-files.ts';
import type { Phase } from '../../src/judge/decision.ts';
import { webhookEntries } from '../../src/webhooks/webhook-entries.ts';
import { webhooksAtUrl } from '../../test/control-plane/webhooks-at-url.ts';
import type { Contestant } from '../peers/contestants.ts';

/**
 * Something in the way of writes, as the manifests that put it there. All of them are there at once, each for the objects that
 * carry its label: so they can be asked in turn, and nothing has to be registered in between.
 */
export interface Contender {
  readonly name: string;
  /** The value of {@link LABEL} on its objects. */
  readonly label: string;
  readonly manifests: readonly object[];
}

export const LABEL = 'bench.example.com/contender';
export const POLICIES = join(import.meta.dirname, '..', 'peers', 'policies.yaml');

const ADMISSION = 'admissionregistration.k8s.io/v1';

/** Nothing in the way: what the others are compared with. */
export const NONE: Contender = { name: 'none', label: 'none', manifests: [] };

/** A webhook that is asked about each update of a node, and each DaemonSet that is created. */
export function webhookContender({ name, port }: Contestant, label: string, caBundle: string): Contender {
  const webhook = (path: string, resource: string, apiGroup: string, operation: string) => ({
    name: `${path}.${label}.bench.example.com`,
    clientConfig: { url: `https://127.0.0.1:${port}/${path}`, caBundle },
    rules: [{ apiGroups: [apiGroup], apiVersions: ['v1'], resources: [resource], operations: [operation] }],
    objectSelector: { matchLabels: { [LABEL]: label } },
    failurePolicy: 'Fail',
    sideEffects: 'None',
    admissionReviewVersions: ['v1'],
  });
  return {
    name,
    label,
    manifests: [
      configuration('Validating', label, [webhook('validate', 'nodes', '', 'UPDATE')]),
      configuration('Mutating', label, [webhook('mutate', 'daemonsets', 'apps', 'CREATE')]),
    ],
  };
}

/** Which webhooks policies need. */
type Register = typeof webhookEntries;

/** The same by the sources of an earlier commit, in a folder of their own. */
export async function registerOf(sources: string): Promise<Register> {
  // The second name is an earlier one.
  const file = ['webhook-entries.ts', 'entries.ts']
    .map((name) => join(sources, 'src', 'webhooks', name))
    .find(existsSync);
  if (file === undefined) throw new Error(`no webhook entries in ${sources}`);
  const module = (await import(pathToFileURL(file).href)) as { webhookEntries: Register };
  return module.webhookEntries;
}

/**
 * taintkeeper as it registers itself in a cluster, conditions included.
 * @param register how it does
 */
export async function registeredContender(
  { name, port }: Contestant,
  label: string,
  caBundle: string,
  register = webhookEntries,
) {
  const itsOwn = { key: LABEL, operator: 'In', values: [label] } as const;
  const entries = register(parsePolicies(await readPolicyFiles([POLICIES]))).map((entry) => ({
    ...entry,
    name: entry.name.replace('.', `.${label}.`),
    objectSelector: [...(entry.objectSelector ?? []), itsOwn],
  }));
  const webhooks = (phase: Phase) => webhooksAtUrl(entries, phase, `https://127.0.0.1:${port}`, caBundle);
  return {
    name: `${name}, as it ${register === webhookEntries ? 'registers' : 'registered before'}`,
    label,
    manifests: [
      configuration('Validating', label, webhooks('validate')),
      configuration('Mutating', label, webhooks('mutate')),
    ],
  } satisfies Contender;
}

/** Admission policies from a file of manifests: each policy is bound to the contender's objects. */
export function manifestContender(name: string, label: string, file: string): Contender {
  const objectSelector = { matchLabels: { [LABEL]: label } };
  const manifests = parseAllDocuments(readFileSync(file, 'utf8')).map((document) => {
    const object = document.toJS() as { spec?: { matchConstraints?: object } };
    const { spec } = object;
    if (!spec?.matchConstraints) return object;
    return { ...object, spec: { ...spec, matchConstraints: { ...spec.matchConstraints, objectSelector } } };
  });
  return { name, label, manifests };
}

function configuration(phase: 'Validating' | 'Mutating', label: string, webhooks: readonly object[]): object {
  return {
    apiVersion: ADMISSION,
    kind: `${phase}WebhookConfiguration`,
    metadata: { name: `bench-${label}` },
    webhooks,
  };
}
