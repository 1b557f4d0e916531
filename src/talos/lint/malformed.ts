import type { Path } from '../../policy/problem.ts';
import type { Rule } from './finding.ts';

export const MALFORMED: Rule = {
  id: 'malformed',
  severity: 'refused',
  about:
    'A taint, label, annotation or `machine.type` that cannot be read. Talos takes `value:Effect` or `Effect` for a taint, the kubelet `key=value:Effect` or `key:Effect`; the effects are NoSchedule, PreferNoSchedule and NoExecute. Also a tab in the indentation, before a comment or alone.',
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
