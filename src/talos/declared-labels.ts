import type { SourceDocument } from '../files/documents.ts';
import type { Path } from '../policy/problem.ts';
import { isLabelValue, isQualifiedName } from '../policy/schema.ts';
import type { Declared, Malformed } from './declared.ts';
import { flagTexts, isNoMapping } from './declared-taints.ts';
import { entriesAt, kindOf, textAt } from './tree.ts';

/** A node label that a machine configuration declares. */
export interface DeclaredLabel {
  readonly key: string;
  readonly value: string;
}

/** By Talos, or by the kubelet's flag `--node-labels`. As with taints. */
export type LabelShape = 'nodeLabels' | 'KubeNodeConfig' | 'node-labels';

export type FoundLabel = Declared<DeclaredLabel> & { readonly shape: LabelShape };

/** The node labels of one document, and what should be some and cannot be read. */
export function readLabels(document: SourceDocument): { found: FoundLabel[]; malformed: Malformed[] } {
  const found: FoundLabel[] = [];
  const malformed: Malformed[] = [];
  const take = (shape: LabelShape, path: Path, key: string, value: string | undefined): void => {
    if (!isQualifiedName(key)) {
      malformed.push({ document, path, message: `"${key}" is no label key: expected NAME or DOMAIN/NAME` });
    } else if (value === undefined || !isLabelValue(value)) {
      malformed.push({ document, path, message: `the value of label ${key} is none that a label can have` });
    } else {
      found.push({ shape, value: { key, value }, document, path });
    }
  };
  const byTalos = (shape: LabelShape, path: Path): void => {
    if (isNoMapping(document, path))
      malformed.push({ document, path, message: 'expected a mapping of keys to values' });
    for (const [key] of entriesAt(document, path)) take(shape, [...path, key], key, textAt(document, [...path, key]));
  };
  const byKubelet = (path: Path): void => {
    for (const [at, text] of flagTexts(document, [...path, 'extraArgs', 'node-labels'])) {
      for (const label of text.split(',').filter(Boolean)) {
        const [key = '', ...value] = label.trim().split('=');
        take('node-labels', at, key, value.join('='));
      }
    }
  };

  switch (kindOf(document)) {
    case undefined:
      byTalos('nodeLabels', ['machine', 'nodeLabels']);
      byKubelet(['machine', 'kubelet']);
      break;
    case 'KubeNodeConfig':
      byTalos('KubeNodeConfig', ['labels']);
      break;
    case 'KubeletConfig':
      byKubelet([]);
      break;
  }
  return { found, malformed };
}
