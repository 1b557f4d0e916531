import type { CoverageFix } from '../../coverage/gap-fix.ts';
import { rolloutCommandFor } from '../../coverage/gap-remedy.ts';
import { helmValues } from '../../coverage/helm-values.ts';
import { kustomizeComponent } from '../../coverage/kustomize-component.ts';
import { missingTolerationsOf } from '../../coverage/missing-tolerations.ts';
import { patchCommands } from '../../coverage/patch-commands.ts';
import type { Remedies } from '../../coverage/remedies.ts';
import type { InstalledDaemonSet } from '../../coverage/workload.ts';
import { KUBECTL_YAML, yamlText } from '../../files/printed-data.ts';
import type { SchedulingNode } from '../../scheduling/coverage.ts';
import { atMost } from '../../text/counts.ts';
import { asComments } from '../output/format.ts';

/** How to close gaps: by policies, by patches, or in the sources of the DaemonSets. */
export const FIX_FORMS = ['policies', 'patch', 'helm-values', 'kustomize'] as const;
export type FixForm = (typeof FIX_FORMS)[number];

/** What closes the gaps, and what is left. */
export type Fix = CoverageFix<InstalledDaemonSet, SchedulingNode>;

/** A fix in one form. */
export interface PrintedForm {
  /** What to apply, without comments on the whole. */
  readonly text: string;
  readonly data: object;
  readonly left: Remedies<unknown>['left'];
  /** The end of the sentence on the number of closed gaps, and the lines after it. */
  readonly about: readonly string[];
}

/** What `--as` prints. */
export const FORMS: Readonly<Record<FixForm, (fix: Fix) => PrintedForm>> = {
  policies: ({ policies, closed }) => ({
    text: policies.map((policy) => `---\n${asManifest(policy)}`).join(''),
    data: { apiVersion: 'v1', kind: 'List', items: policies },
    left: [],
    about: [
      '. Each DaemonSet gets its tolerations with its next rollout. existing: Patch has the leader do that, one after the other:',
      'it needs the right patchDaemonSets (off by default). Without it, once the policies are Ready (kubectl get tolerationpolicies):',
      ...atMost(
        MAX_ROLLOUTS,
        missingTolerationsOf(closed).map(({ daemonSet }) => `  ${rolloutCommandFor(daemonSet)}`),
      ),
    ],
  }),
  patch({ closed }) {
    const { remedies, left } = patchCommands(missingTolerationsOf(closed));
    const commands = remedies.map(({ daemonSet: { namespace, name }, ...rest }) => ({ namespace, name, ...rest }));
    const lines = commands.map(({ namespace, name, command, revertedBy }) => {
      const warning = `${namespace}/${name} is managed by ${revertedBy}: change it there, too, or the patch is reverted`;
      return `${revertedBy === undefined ? '' : asComments([warning])}${command}\n`;
    });
    return {
      text: lines.join(''),
      data: { commands },
      left,
      about: ['. Each command rolls the pods of its DaemonSet.'],
    };
  },
  'helm-values'({ closed }) {
    const { remedies: releases, left } = helmValues(missingTolerationsOf(closed));
    const documents = releases.map(({ chart, release, namespace, values }) => {
      const whose = release === undefined ? 'the release' : `release ${release}`;
      return `${asComments([`for ${whose} of chart ${chart} in namespace ${namespace}`])}${asManifest(values)}`;
    });
    return {
      text: documents.join('---\n'),
      data: { releases },
      left,
      about: [
        ', with these values added to those of the release. Helm replaces lists: each has what its DaemonSet tolerates now, too.',
        'For a chart that is a dependency of another one, put them below its name.',
      ],
    };
  },
  kustomize({ closed }) {
    const { remedies, left } = kustomizeComponent(missingTolerationsOf(closed), asManifest);
    return {
      text: remedies.map(asManifest).join(''),
      data: remedies[0] ?? {},
      left,
      about: [
        '. Put this as kustomization.yaml into a folder, and the folder under `components` where the DaemonSets are.',
        "A list takes the place of the manifest's: each has what its DaemonSet tolerates now, too.",
      ],
    };
  },
};

function asManifest(object: object): string {
  return yamlText(object, KUBECTL_YAML);
}

const MAX_ROLLOUTS = 10;
