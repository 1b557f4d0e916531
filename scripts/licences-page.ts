import { lockedPackages } from './locked-packages.ts';

/** The reference page of what taintkeeper is made of, and on which terms. */
export function licencesPage(): string {
  const rows = lockedPackages()
    .filter(({ dev }) => !dev)
    .map(
      ({ name, version, license }) => `| [${name}](https://www.npmjs.com/package/${name}) | ${version} | ${license} |`,
    );
  return [
    '# Licences\n',
    'taintkeeper is under [Apache-2.0](../../LICENSE). These packages can be part of the program, or are needed to install it from',
    'source; what only builds or tests it is left out. `npm run sbom` prints the same as a bill of materials (CycloneDX), with the',
    'integrity of each. The image has the notices of all in `/app/THIRD-PARTY-NOTICES.txt`.\n',
    '| package | version | licence |',
    '| --- | --- | --- |',
    ...[...new Set(rows)].sort(),
    '',
  ].join('\n');
}
