import { TRANSIENT_TAINTS, type TransientTaint } from '../src/kubernetes/transient-taints.ts';

interface Section {
  readonly heading: string;
  readonly phase: TransientTaint['phase'];
  readonly text: string;
}

const SECTIONS: readonly Section[] = [
  {
    heading: 'Startup taints',
    phase: 'startup',
    text:
      'They are set before a node accepts pods. The leader reports one that [stays on a Ready node](../startup-taints.md#startup-taints-that-remain), or that ' +
      '[a NodePool of Karpenter does not declare](../autoscalers.md#startup-taints-without-a-policy), unless autoscalers ignore its key.',
  },
  {
    heading: 'Taints of nodes that end',
    phase: 'departure',
    text: 'The node will be deleted or restarted. On such a node, a RecoveryPolicy deletes no pods.',
  },
  {
    heading: 'Other taints',
    phase: undefined,
    text: 'They are there while a state of the node, or work on it, lasts.',
  },
];

/** The reference page of the taints that taintkeeper knows as transient. */
export function transientTaintsPage(): string {
  return [
    '# Known transient taints\n',
    'Kubernetes, autoscalers, agents and operators set and remove these taints during the life of a node. For taintkeeper, this means:\n',
    '- A policy with a key `DOMAIN/*` never covers them. To protect one, name its exact key. The API server refuses that for the keys of `Kubernetes` and the cloud ' +
      'controller manager.',
    '- `taintkeeper coverage` counts a DaemonSet that only these taints keep off as `waits`, and not as a gap. `coverage fix` tolerates one only if `--taint` names its ' +
      'whole key.',
    '- `talos policies` and `export --nodes` leave them out.\n',
    'A `*` stands for any characters. A taint that is not in these tables counts as permanent: list its key in `except`.\n',
    ...SECTIONS.flatMap(sectionOf),
  ].join('\n');
}

function sectionOf({ heading, phase, text }: Section): string[] {
  const rows = TRANSIENT_TAINTS.filter((taint) => taint.phase === phase).map(rowOf);
  return [`## ${heading}\n`, `${text}\n`, '| key | removed by |', '| --- | --- |', ...rows, ''];
}

function rowOf({ key, removedBy }: TransientTaint): string {
  return `| \`${key}\` | ${removedBy.replace('$1', 'of that name')} |`;
}
