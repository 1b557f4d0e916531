import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { runHelm } from '../test/control-plane/helm.ts';

const MANIFESTS = join(import.meta.dirname, '..', 'manifests');
export const CHART = join(MANIFESTS, 'chart');
export const INSTALL = join(MANIFESTS, 'install.yaml');
export const NAMESPACE = 'taintkeeper';

/** Helm packs only what is in the chart's own folder, and npm packs no links: so these are copied into it. */
const COPIED_FOLDERS = ['crds', 'policies'] as const;

/** What the chart's `files/` should hold: texts by their path in the chart. */
export function chartFiles(): Map<string, string> {
  const files = new Map<string, string>();
  for (const folder of COPIED_FOLDERS) {
    for (const file of readdirSync(join(MANIFESTS, folder)).sort()) {
      files.set(join('files', folder, file), readFileSync(join(MANIFESTS, folder, file), 'utf8'));
    }
  }
  return files;
}

/**
 * What `manifests/install.yaml` should be. Marks that only Helm heeds are left out.
 * @throws Error when there is no helm
 */
export async function renderInstall(): Promise<string> {
  const notice = '# Rendered from manifests/chart by `npm run generate`: change the chart, not this file.\n';
  return notice + (await renderChart(['--set', 'namespace.create=true,crds.keep=false']));
}

/**
 * The chart's objects, as YAML.
 * @param args more arguments of `helm template`, such as `--set` and `--values`
 * @throws Error with what helm printed when it refuses, or when there is no helm
 */
export async function renderChart(args: readonly string[] = []): Promise<string> {
  const { code, stdout, stderr } = await runHelm(['template', 'taintkeeper', CHART, '--namespace', NAMESPACE, ...args]);
  if (code !== 0) throw new Error(stderr);
  return stdout;
}
