import type { SourceDocument } from '../files/documents.ts';
import type { Path } from '../policy/problem.ts';
import { isLabelValue, isQualifiedName } from '../policy/schema.ts';
import { type Declared, type Malformed, malformed } from './declared.ts';
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
  const refused: Malformed[] = [];
  const refuse = (path: Path, problem: string, expected: string): void => {
    refused.push(malformed('label', { document, path }, problem, expected));
  };
  const take = (shape: LabelShape, path: Path, key: string, value: string | undefined): void => {
    if (!isQualifiedName(key)) {
      refuse(path, `"${key}" is no label key`, 'NAME or DOMAIN/NAME');
    } else if (value === undefined || !isLabelValue(value)) {
      refuse(path, `the value of label ${key} is none`, 'at most 63 letters, digits, "-", "_" and "."');
    } else {
      found.push({ shape, value: { key, value }, document, path });
    }
  };
  const byTalos = (shape: LabelShape, path: Path): void => {
    if (isNoMapping(document, path)) refuse(path, 'this is no mapping of labels', 'a mapping of keys to values');
    for (const [key] of entriesAt(document, path)) take(shape, [...path, key], key, textAt(document, [...path, key]));
  };
  const byKubelet = (path: Path): void => {
    for (const [at, text] of flagTexts(document, [...path, 'extraArgs', 'node-labels'])) {
      for (const label of text.split(',').filter(Boolean)) {
        // ConfigurationMap of k8s.io/component-base: spaces around either do not count.
        const [key = '', ...value] = label.split('=');
        take('node-labels', at, key.trim(), value.join('=').trim());
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
  return { found, malformed: refused };
}
