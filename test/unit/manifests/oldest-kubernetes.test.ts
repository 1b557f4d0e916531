import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { OLDEST_KUBERNETES } from '../../../src/version.ts';

const read = (path: string) => readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8');

it('the chart installs on the oldest Kubernetes that is supported, and on none that is older', () => {
  const { kubeVersion } = parse(read('manifests/chart/Chart.yaml')) as { kubeVersion: string };
  // `-0`: also its release candidates, and versions such as 1.29.3-gke.100.
  expect(kubeVersion).toBe(`>=${OLDEST_KUBERNETES}.0-0`);
});

it('the docs name it', () => {
  expect(read('docs/upgrading.md')).toContain(`The chart also installs on ${OLDEST_KUBERNETES} to `);
});
