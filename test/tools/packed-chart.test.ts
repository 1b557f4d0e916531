import { execFileSync } from 'node:child_process';
import { globSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { packChart } from '../../scripts/release/chart.ts';
import { imagesOf } from '../../scripts/release/versions.ts';
import { VERSION } from '../../src/version.ts';
import { obstacleToHelm, runHelm } from '../control-plane/helm.ts';
import { createWorkspace } from '../control-plane/workspace.ts';
import { skipFor } from '../skip-for.ts';

const REPOSITORY = 'registry.example/owner/taintkeeper';
const DIGEST = `sha256:${'a'.repeat(64)}`;
const OTHER_DIGEST = `sha256:${'b'.repeat(64)}`;

describe('the chart of a release', skipFor(obstacleToHelm()), () => {
  const workspace = createWorkspace('packed-chart');
  let archive: string;
  let contents: string;

  beforeAll(async () => {
    const folder = workspace.path('folder');
    const scratch = workspace.path('scratch');
    mkdirSync(folder);
    mkdirSync(scratch);
    const image = { repository: REPOSITORY, digest: DIGEST };
    archive = await packChart(folder, scratch, image, '### Added\n\n- New.\n', 'https://example.com/project');
    execFileSync('tar', ['--extract', '--file', archive, '--directory', folder]);
    contents = join(folder, 'taintkeeper');
  });
  afterAll(() => workspace.remove());

  it.each([
    { values: 'replicas=2', image: `${REPOSITORY}@${DIGEST}` },
    { values: `image.tag=${VERSION}`, image: `${REPOSITORY}@${DIGEST}` },
    { values: 'image.tag=x', image: `${REPOSITORY}:x` },
    { values: 'image.repository=mirror/tk', image: `mirror/tk:${VERSION}` },
    { values: 'image.repository=mirror/tk,image.tag=x', image: 'mirror/tk:x' },
    { values: `image.repository=mirror/tk,image.digest=${OTHER_DIGEST}`, image: `mirror/tk@${OTHER_DIGEST}` },
  ])('has, with --set $values, the image that the user means', async ({ values, image }) => {
    const { code, stdout, stderr } = await runHelm(['template', 'taintkeeper', archive, '--set', values]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(imagesOf(stdout)).toEqual([image]);
  });

  it('says nothing that is true of the sources alone', () => {
    const texts = globSync('**/*', { cwd: contents, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'utf8'));
    expect(texts.length).toBeGreaterThan(20);
    for (const text of texts) {
      expect(text).not.toMatch(/(is|are) published|your image|needs only the image|\.\.\//);
    }
    const readme = readFileSync(join(contents, 'README.md'), 'utf8');
    expect(readme).toContain(`(https://example.com/project/blob/v${VERSION}/docs/install.md)`);
  });
});
