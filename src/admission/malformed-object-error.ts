import type { TSchema } from 'typebox';
import { formatPath, type Path } from '../policy/problem.ts';
import { schemaProblems } from '../policy/schema-problems.ts';

/** The object of a request is not what its resource says it is. */
export class MalformedObjectError extends Error {
  override name = 'MalformedObjectError';
  /** The field, from the top of the review: `request`, `object`, … */
  readonly path: Path;
  /** What is expected there, and what stands there instead. */
  readonly problem: string;

  constructor(path: Path, problem: string) {
    super(`${formatPath(path)}: ${problem}`);
    this.path = path;
    this.problem = problem;
  }
}

/** The error for a value at `path` that its schema refuses, with the first thing wrong with it. */
export function malformed(schema: TSchema, value: unknown, path: Path): MalformedObjectError {
  const [problem] = schemaProblems(schema, value);
  return new MalformedObjectError([...path, ...(problem?.path ?? [])], problem?.message ?? 'not valid');
}
