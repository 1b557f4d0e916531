import type { ControlPlane } from '../control-plane/control-plane.ts';
import { admin } from '../control-plane/users.ts';

/**
 * The API server's metrics of the admission policies and match conditions that it has evaluated, one a line. It may be that of an earlier file: what
 * changed since is what counts.
 */
export async function readEvaluations(cp: ControlPlane): Promise<string[]> {
  const { body } = await cp.request<string>(admin, 'GET', '/metrics');
  return body
    .split('\n')
    .filter((line) => /^apiserver_(validating_admission_policy|admission_match_condition)_/.test(line));
}
