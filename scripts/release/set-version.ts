import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseDocument } from 'yaml';
import { CHART } from '../chart.ts';
import { ROOT } from './run.ts';
import { NAMING_THE_IMAGE } from './versions.ts';

/* Run by `npm version`: gives the chart, and docs that name the image, the version that package.json has got. */

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
