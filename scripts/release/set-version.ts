import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseDocument } from 'yaml';
import { CHART } from '../chart.ts';
import { ROOT } from './run.ts';

/* Run by `npm version`: gives the chart the version that package.json has got. */

const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };
const file = join(CHART, 'Chart.yaml');
const chart = parseDocument(readFileSync(file, 'utf8'));
chart.set('version', version);
chart.set('appVersion', version);
writeFileSync(file, chart.toString({ lineWidth: 0 }));
