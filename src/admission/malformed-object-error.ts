import { formatPath, type Path } from '../policy/problem.ts';

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
