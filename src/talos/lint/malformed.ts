import type { Malformed } from '../declared.ts';
import type { Rule } from './finding.ts';

const CONSEQUENCE: Record<Malformed['subject'], string> = {
  taint: 'the node never gets this taint',
  label: 'the node never gets this label',
};

export const MALFORMED: Rule = {
  id: 'malformed',
  about:
    'A taint or label that nobody can read. Talos takes `value:Effect` or `Effect`, the kubelet `key=value:Effect` or `key:Effect`; the effects are NoSchedule, PreferNoSchedule and NoExecute.',
  check: ({ configuration }) =>
    configuration.malformed.map(({ document, path, subject, problem, expected }) => ({
      document,
      path,
      reason: `${problem}: ${CONSEQUENCE[subject]}`,
      fix: `write ${expected}`,
    })),
};
