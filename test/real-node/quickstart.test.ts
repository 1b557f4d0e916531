import { chmodSync, symlinkSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { cacheFolder } from '../control-plane/go-modules.ts';
import { helmPath } from '../control-plane/helm.ts';
import { KUBERNETES } from '../control-plane/kubernetes.ts';
import { runTool } from '../control-plane/run-tool.ts';
import { admin } from '../control-plane/users.ts';
import { createWorkspace } from '../control-plane/workspace.ts';
import { type GuideCommand, guideCommands, guideFile } from '../e2e/guide-commands.ts';
import { skipFor } from '../skip-for.ts';
import { obstacleToRealNode } from './obstacle.ts';
import { type RealCluster, startRealCluster } from './real-cluster.ts';

const TIMEOUT_MS = 180_000;
const ROOT = join(import.meta.dirname, '..', '..');
const PAGE = 'quickstart.md';

/** The blocks of the page, in its order. */
const STEPS = [
  ['Prepare two nodes', 0],
  ['Install with --audit', 0],
  ['Install with --audit', 1],
  ['Audit', 0],
  ['Audit', 1],
  ['Audit', 2],
  ['Enforce', 0],
  ['Enforce', 1],
  ['Check the installation', 0],
] as const;

vi.setConfig({ testTimeout: TIMEOUT_MS, hookTimeout: TIMEOUT_MS });

describe('the quickstart on two nodes', skipFor(obstacleToRealNode()), () => {
  const workspace = createWorkspace('quickstart');
  let cluster: RealCluster;
  let env: NodeJS.ProcessEnv;

  beforeAll(async () => {
    cluster = await startRealCluster({ nodes: 2 });
    // The clone: the page names these by their path in it.
    symlinkSync(join(ROOT, 'manifests'), workspace.path('manifests'));
    workspace.write('gpu-pool.yaml', guideFile(PAGE, 'Install with --audit'));
    const wrapper = `#!/bin/sh\nexec '${process.execPath}' '${join(ROOT, 'bin', 'taintkeeper.js')}' "$@"\n`;
    chmodSync(workspace.write('taintkeeper', wrapper), 0o700);
    const folders = [workspace.path('.'), cacheFolder(KUBERNETES), dirname(helmPath() ?? '')];
    env = {
      ...process.env,
      HOME: workspace.path('home'),
      KUBECONFIG: await cluster.kubeconfigFile(admin),
      PATH: [...folders, process.env.PATH].join(delimiter),
    };
  });
  afterAll(async () => {
    await cluster?.stop();
    workspace.remove();
  });

  const runCommand = (command: string) =>
    runTool('/bin/sh', ['-c', `cd '${workspace.path('.')}' && { ${command}\n} 2>&1`], { env, timeoutMs: TIMEOUT_MS });
  const printed = async (command: string) => comparable((await runCommand(command)).stdout);

  it.each(STEPS.flatMap(([heading, block]) => guideCommands(PAGE, heading, block)))(
    '$command',
    async ({ command, output }) => {
      const shown = comparable(output);
      const shows = (repeated: string) =>
        expect.poll(() => printed(repeated), { timeout: TIMEOUT_MS / 2, interval: 1_000 }).toBe(shown);
      // The page does not show what this command prints.
      if (output === '') return expect(await runCommand(command)).toMatchObject({ code: 0 });
      if (isRead({ command, output })) return shows(command);
      // A busy API server calls a new webhook some moments after the policy is Ready.
      if (/^(Warning|Error)/.test(shown)) await shows(`${command} --dry-run=server`);
      expect(lastLines(await printed(command), shown)).toBe(shown);
    },
  );
});

/** Whether a command changes nothing, so that it can be repeated until the cluster is as the page shows it. */
function isRead({ command }: GuideCommand): boolean {
  return /^(kubectl (-n \S+ )?get|taintkeeper) /.test(command);
}

/** `rollout status` prints a line for each step that it waits for, and the page shows the last one. */
function lastLines(actual: string, shown: string): string {
  return actual.split('\n').slice(-shown.split('\n').length).join('\n');
}

/** Without what differs from run to run: ages, which are the last column, times, and the mark of a dry run. */
function comparable(text: string): string {
  return text
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME')
    .replaceAll(/ +\d+[ms][\dms]*$/gm, ' AGE')
    .replaceAll(' (server dry run)', '')
    .trim();
}
