import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { helmPath, obstacleToHelm } from '../test/control-plane/helm.ts';
import { CHART, chartFiles, INSTALL, renderInstall, renderRights } from './chart.ts';

rmSync(join(CHART, 'files'), { recursive: true, force: true });
for (const [path, text] of chartFiles()) {
  const file = join(CHART, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

if (helmPath()) {
  writeFileSync(INSTALL, await renderInstall());
  for (const [file, text] of await renderRights()) {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
} else {
  process.stderr.write(`manifests/install.yaml and manifests/rights are left as they are: ${obstacleToHelm()}\n`);
}
