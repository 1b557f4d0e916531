import type { SourceDocument } from '../files/documents.ts';
import { isLabelValue, isQualifiedName } from '../kubernetes/names.ts';
import type { Path } from '../policy/problem.ts';
import { entryTexts, flagTexts, kindOf } from './document-values.ts';
import { type Located, type Malformed, malformed } from './field-location.ts';

/** A node label that a machine configuration declares. */
interface LabelFields {
  readonly key: string;
  readonly value: string;
}

/** How a label is declared: by Talos, or by the kubelet's flag `--node-labels`. */
type LabelShape = 'nodeLabels' | 'KubeNodeConfig' | 'node-labels';

export type FileLabel = Located<LabelFields> & { readonly shape: LabelShape };

/** The node labels of one document, and its invalid ones. */
export function readLabels(document: SourceDocument): { found: FileLabel[]; malformed: Malformed[] } {
  const found: FileLabel[] = [];
  const refused: Malformed[] = [];
  const refuse = (path: Path, problem: string, expected: string): void => {
    refused.push(malformed({ document, path }, problem, expected));
  };
  const take = (shape: LabelShape, path: Path, key: string, value: string): void => {
    if (!isQualifiedName(key)) {
      refuse(path, `"${key}" is no label key`, 'NAME or DOMAIN/NAME');
    } else if (!isLabelValue(value)) {
      refuse(path, `the value of label ${key} is none`, 'at most 63 letters, digits, "-", "_" and "."');
    } else {
      found.push({ shape, value: { key, value }, document, path });
    }
  };
  const byTalos = (shape: LabelShape, path: Path): void => {
    for (const [key, value] of entryTexts(document, path)) take(shape, [...path, key], key, value);
  };
  const byKubelet = (path: Path): void => {
    for (const [at, text] of flagTexts(document, [...path, 'extraArgs', 'node-labels'])) {
      for (const label of text.split(',').filter(Boolean)) {
        // ConfigurationMap of k8s.io/component-base ignores spaces around both.
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
