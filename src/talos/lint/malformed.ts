import type { Path } from '../../policy/problem.ts';
import type { Rule } from './finding.ts';

export const MALFORMED: Rule = {
  id: 'malformed',
  about:
    'A taint or label that nobody can read. Talos takes `value:Effect` or `Effect`, the kubelet `key=value:Effect` or `key:Effect`; the effects are NoSchedule, PreferNoSchedule and NoExecute.',
  check: ({ configuration }) =>
    configuration.malformed.map(({ document, path, problem, expected }) => ({
      document,
      path,
      reason: `${problem}: ${consequence(path)}`,
      fix: `write ${expected}`,
    })),
};

function consequence(path: Path): string {
  if (path.includes('extraArgs')) return 'the kubelet does not start';
  if (path.includes('registerWithTaints')) return 'the node cannot register';
  return 'Talos refuses the configuration';
}
