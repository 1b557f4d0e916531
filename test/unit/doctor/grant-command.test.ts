import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { GRANTS, OPTIONAL_RIGHT_NAMES, OPTIONAL_RIGHTS } from '../../../src/cluster/rights/rights.ts';
import { grantCommand } from '../../../src/doctor/grant-command.ts';
import { INSTALLATION } from './facts.ts';

it.each(OPTIONAL_RIGHT_NAMES)(
  'what is revoked by the file in manifests/rights is what the command gives: %s',
  (right) => {
    const [, json = ''] = /^echo '(.*)' \| kubectl apply -f -$/.exec(grantCommand(right, INSTALLATION)) ?? [];
    const file = new URL(`../../../manifests/rights/${GRANTS[OPTIONAL_RIGHTS[right].grant].file}`, import.meta.url);
    const objects = parseAllDocuments(readFileSync(file, 'utf8')).map((document) => document.toJS());
    const { items } = JSON.parse(json);
    expect(objects.filter((object) => object !== null)).toMatchObject(items);
  },
);
