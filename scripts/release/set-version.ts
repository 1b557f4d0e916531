import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseDocument } from 'yaml';
import { CHART } from '../chart.ts';
import { ROOT } from './run.ts';
import { agreedVersion, NAMING_THE_IMAGE } from './versions.ts';

/*
 * Run by `npm version`: gives the chart, docs that name the image, and what `npm run generate` writes, the version that package.json has got.
 * Fails if a place keeps another one: without Helm, install.yaml does.
 */

const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };
const file = join(CHART, 'Chart.yaml');
const chart = parseDocument(readFileSync(file, 'utf8'));
const before = String(chart.get('version'));
chart.set('version', version);
chart.set('appVersion', version);
writeFileSync(file, chart.toString({ lineWidth: 0 }));
for (const path of NAMING_THE_IMAGE) {
  const text = readFileSync(join(ROOT, path), 'utf8');
  writeFileSync(join(ROOT, path), text.replaceAll(before, version));
}
execFileSync('npm', ['run', '--silent', 'generate'], { cwd: ROOT, stdio: 'inherit' });
agreedVersion();
