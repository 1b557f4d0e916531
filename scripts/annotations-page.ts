import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkExplained } from './explained.ts';

interface AnnotationMeaning {
  readonly on: string;
  /** Who may write it, or does. */
  readonly by: string;
  /** A sentence. */
  readonly meaning: string;
}

const LEADER = 'the leader';

/** By the name after `taintkeeper.dev/`. A name that src does not have, or has besides, is an error. */
const ANNOTATIONS: Readonly<Record<string, AnnotationMeaning>> = {
  'allow-removal': {
    on: 'Node',
    by: 'users; the webhook and native policies; the leader',
    meaning:
      '`key=value:Effect`, several separated by commas: [each of these taints may be removed](../operating.md#removing-a-protected-taint), and is not set again. An entry ends when a request sets its protected taint, or when the node has carried both for an hour, with any value of the taint if a policy sets it with any value, also with a [startup taint](../startup-taints.md#how-ensure-untilready-works). The leader deletes an entry of its own as soon as it does not need it.',
  },
  'ca-added': {
    on: "both of taintkeeper's webhook configurations",
    by: 'a replica that does not lead',
    meaning:
      'When the replica added its CA to the `caBundle`s, because the leader has certificates of [another source](../upgrading.md#change-the-source-of-the-certificates). ' +
      'For about an hour from then on, the leader removes no valid CA.',
  },
  created: {
    on: 'ConfigMap with the default policies',
    by: LEADER,
    meaning: 'The default policies that were created. One that is listed is not created again.',
  },
  ignore: {
    on: 'DaemonSet',
    by: 'users',
    meaning: 'Any value but `false`: taintkeeper does not change the DaemonSet, and does not delete its stuck pods.',
  },
  'startup-boot': {
    on: 'Node',
    by: `the webhook, when the Node is created; ${LEADER}`,
    meaning:
      '`BOOTID`, or `BOOTID TIME`: the boot of the node for which the startup taints of [`afterReboot: SetAgain`](../startup-taints.md#afterreboot-setagain) were set. With a time, the leader set them then, after a reboot. Ten seconds after the last policy that sets them again on the node has ended, the leader deletes it.',
  },
  'tolerations-added': {
    on: 'DaemonSet',
    by: LEADER,
    meaning:
      'The tolerations that were [added while the DaemonSet ran](../coverage.md#daemonsets-that-already-run), and the uid of the ServiceAccount that ' +
      'added them: `key=value:Effect, …; by UID`.',
  },
};

/** The reference page of annotations. @throws Error where src has other ones */
export function annotationsPage(): string {
  checkExplained('scripts/annotations-page.ts', Object.keys(ANNOTATIONS), [...new Set(namesInSource())]);
  return [
    '# Annotations\n',
    'Annotations of taintkeeper have the prefix `taintkeeper.dev/`. [Security](../security.md#the-annotation-allow-removal) says who can write that of a ' +
      'Node. `taintkeeper cleanup` removes those of nodes and DaemonSets after an [uninstallation](../uninstall.md#uninstall).\n',
    '| annotation | on | written by | meaning |',
    '| --- | --- | --- | --- |',
    ...Object.entries(ANNOTATIONS).map(
      ([name, { on, by, meaning }]) => `| \`taintkeeper.dev/${name}\` | ${on} | ${by} | ${meaning} |`,
    ),
    '',
  ].join('\n');
}

/** Names of whole string literals; the version of the API and the reporter of Events look alike. */
function namesInSource(): string[] {
  const root = join(import.meta.dirname, '..');
  return globSync('src/**/*.ts', { cwd: root }).flatMap((path) =>
    [...readFileSync(join(root, path), 'utf8').matchAll(/'taintkeeper\.dev\/([a-z-]+)'/g)]
      .map(([, name = '']) => name)
      .filter((name) => name !== 'taintkeeper'),
  );
}
