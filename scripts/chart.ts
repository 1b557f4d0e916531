import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { GRANTS } from '../src/cluster/rights/rights.ts';
import { runHelm } from '../test/control-plane/helm.ts';
import { admissionFiles } from './admission.ts';
import { crdFiles } from './crds.ts';
import { chartRights } from './rights.ts';

const MANIFESTS = join(import.meta.dirname, '..', 'manifests');
export const CHART = join(MANIFESTS, 'chart');
export const INSTALL = join(MANIFESTS, 'install.yaml');
export const NAMESPACE = 'taintkeeper';
/** The image of the rendered manifest, without its tag: below `.invalid` no registry can ever be (RFC 2606). */
export const IMAGE = 'taintkeeper.invalid/taintkeeper';

const NOTICE = '# Rendered from manifests/chart by `npm run generate`: change the chart, not this file.\n';

/**
 * What the chart's `files/` should hold: texts by their path in the chart. The default policies are a copy, because the program reads
 * them, too, and Helm packs only files of the chart's own folder.
 */
export function chartFiles(): Map<string, string> {
  const policies = join(MANIFESTS, 'policies');
  const folders: Readonly<Record<string, Readonly<Record<string, string>>>> = {
    admission: admissionFiles(),
    crds: crdFiles(),
    policies: Object.fromEntries(
      readdirSync(policies).map((file) => [file, readFileSync(join(policies, file), 'utf8')]),
    ),
  };
  const files = Object.entries(folders).flatMap(([folder, texts]) =>
    Object.entries(texts).map(([file, text]): [string, string] => [join('files', folder, file), text]),
  );
  return new Map([...files, [join('files', 'rights.yaml'), chartRights()]]);
}

/**
 * What `manifests/install.yaml` should be. Marks that only Helm heeds are left out.
 * @throws Error when there is no helm
 */
export async function renderInstall(): Promise<string> {
  return NOTICE + (await renderForKubectl(['--set', 'namespace.create=true,crds.keep=false']));
}

export type GrantingValue = keyof typeof GRANTS;
/** A value of the chart that grants rights, and the file that does so for kubectl. */
export const RIGHTS = Object.fromEntries(
  Object.entries(GRANTS).map(([value, { file }]) => [value, join(MANIFESTS, 'rights', file)]),
) as Readonly<Record<GrantingValue, string>>;

/** What the files of {@link RIGHTS} should be, by path. @throws Error when there is no helm */
export async function renderRights(): Promise<Map<string, string>> {
  const files = Object.entries(RIGHTS).map(async ([value, file]): Promise<[string, string]> => {
    const rendered = await renderForKubectl(['--show-only', 'templates/rights.yaml', '--set', `${value}=true`]);
    return [file, NOTICE + rendered];
  });
  return new Map(await Promise.all(files));
}

async function renderForKubectl(args: readonly string[]): Promise<string> {
  const rendered = await renderChart(['--skip-tests', ...args]);
  return rendered.replaceAll(/^ *(helm\.sh\/chart|app\.kubernetes\.io\/managed-by): .*\n/gm, '');
}

/**
 * The chart's objects, as YAML, with {@link IMAGE} unless another one is given.
 * @param args more arguments of `helm template`, such as `--set` and `--values`
 * @throws Error with what helm printed when it refuses, or when there is no helm
 */
export async function renderChart(args: readonly string[] = []): Promise<string> {
  const own = ['--namespace', NAMESPACE, '--set', `image.repository=${IMAGE}`];
  const { code, stdout, stderr } = await runHelm(['template', 'taintkeeper', CHART, ...own, ...args]);
  if (code !== 0) throw new Error(stderr);
  return stdout;
}
