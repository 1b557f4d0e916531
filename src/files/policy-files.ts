import { isMapping } from '../kubernetes/json.ts';
import { type Policy, parsePolicy } from '../policy/policy.ts';
import type { Path } from '../policy/problem.ts';
import { locateField, parseDocuments, type SourceDocument } from './documents.ts';
import { InputError } from './input-error.ts';
import { objectsOf } from './kubernetes-objects.ts';
import { listFiles, readText, sourceName } from './text-files.ts';

/** A text with policies, and the name that errors give it. */
export interface PolicySource {
  readonly name: string;
  readonly text: string;
}

/** @throws InputError for a file that cannot be read */
export async function readPolicyFiles(paths: readonly string[]): Promise<PolicySource[]> {
  const files = await listFiles(paths);
  return Promise.all(files.map(async (file) => ({ name: sourceName(file), text: await readText(file) })));
}

/**
 * Reads all policies of the sources.
 * @throws InputError with every problem of every source, also for two policies of one kind and name, or no policy at all
 */
export function parsePolicies(sources: readonly PolicySource[]): Policy[] {
  const faults: string[] = [];
  const policies: Policy[] = [];
  const places = new Map<string, () => string>();

  for (const { name, text } of sources) {
    collect(() => {
      for (const document of parseDocuments(text, name)) {
        for (const { value, path } of manifestsOf(document)) collect(() => add(document, value, path));
      }
    });
  }
  // More likely a mistake, or a file that is being written, than intended.
  if (policies.length + faults.length === 0) faults.push('no policy found: nothing would be protected');
  if (faults.length > 0) throw new InputError(faults);
  return policies;

  function collect(read: () => void): void {
    try {
      read();
    } catch (error) {
      if (!(error instanceof InputError)) throw error;
      faults.push(...error.faults);
    }
  }

  function add(document: SourceDocument, value: unknown, path: Path): void {
    const policy = policyAt(document, value, path);
    const key = `${policy.kind}/${policy.name}`;
    const place = () => document.locate([...path, 'metadata', 'name']);
    const first = places.get(key);
    if (first) faults.push(`${place()}: ${policy.kind} "${policy.name}" is already defined at ${first()}`);
    else places.set(key, place);
    policies.push(policy);
  }
}

/**
 * The policy that is at a path of a document.
 * @throws InputError with every problem of the policy, each with its place
 */
export function policyAt(document: SourceDocument, value: unknown, path: Path): Policy {
  const result = parsePolicy(value);
  if (result.ok) return result.policy;
  throw new InputError(
    result.problems.map((problem) => `${locateField(document, [...path, ...problem.path])}: ${problem.message}`),
  );
}

/** The values to read as policies, with their places in the document: the document itself, or the items of a list. */
function manifestsOf(document: SourceDocument): { value: unknown; path: Path }[] {
  const { value } = document;
  const isList = isMapping(value) && typeof value.kind === 'string' && value.kind.endsWith('List');
  return isList ? objectsOf(document).map(({ object, path }) => ({ value: object, path })) : [{ value, path: [] }];
}
