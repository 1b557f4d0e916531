import type { SourceDocument } from '../files/documents.ts';
import { isLabelValue, isQualifiedName } from '../kubernetes/label-selector.ts';
import { sameTaint } from '../kubernetes/taint.ts';
import type { Path } from '../policy/problem.ts';
import {
  checkTaint,
  type DeclaredTaint,
  type ReadTaint,
  readKubeletTaint,
  readTalosTaint,
  TALOS_NOTATION,
} from './taint-notation.ts';
import { entriesAt, isMapping, kindOf, textAt, valueAt } from './tree.ts';

/** A place in a machine configuration or a patch of one. */
export interface FieldLocation {
  readonly document: SourceDocument;
  readonly path: Path;
}

/** A value, and its place in the files. */
export interface Declared<T> extends FieldLocation {
  readonly value: T;
}

/** An invalid taint or label. */
export interface Malformed extends FieldLocation {
  readonly subject: 'taint' | 'label';
  readonly problem: string;
  /** The expected form. */
  readonly expected: string;
  /** Both, in one sentence. */
  readonly message: string;
}

function malformed(
  subject: Malformed['subject'],
  { document, path }: FieldLocation,
  problem: string,
  expected: string,
): Malformed {
  return { subject, document, path, problem, expected, message: `${problem}: expected ${expected}` };
}

/**
 * How a taint is declared. Talos keeps applying its own declarations: `machine.nodeTaints` up to 1.13, and the document KubeNodeConfig since 1.14.
 * The kubelet's flag or configuration only applies when a node registers: it is in `machine.kubelet` (extraArgs, extraConfig) or, since 1.14, in the
 * document KubeletConfig (extraArgs, config).
 */
export type TaintShape = 'nodeTaints' | 'KubeNodeConfig' | 'register-with-taints' | 'registerWithTaints';

export type FoundTaint = Declared<DeclaredTaint> & { readonly shape: TaintShape };

/** True if both declare the same for their key. */
export function sameDeclaration(a: FoundTaint, b: FoundTaint): boolean {
  return sameTaint(a.value, b.value) && a.value.value === b.value.value;
}

interface TaintsOfDocument {
  readonly found: FoundTaint[];
  readonly malformed: Malformed[];
}

/** The taints of one document, and its invalid ones. */
export function readTaints(document: SourceDocument): TaintsOfDocument {
  const result: TaintsOfDocument = { found: [], malformed: [] };
  const refuse = (path: Path, problem: string, expected: string): void => {
    result.malformed.push(malformed('taint', { document, path }, problem, expected));
  };
  const take = (shape: TaintShape, path: Path, read: ReadTaint): void => {
    if (read.ok) result.found.push({ shape, value: read.taint, document, path });
    else refuse(path, read.problem, read.expected);
  };
  const kind = kindOf(document);

  const byTalos = (shape: TaintShape, path: Path): void => {
    if (isNoMapping(document, path)) {
      refuse(path, 'this is no mapping of taints', `a mapping of keys to ${TALOS_NOTATION}`);
    }
    for (const [key] of entriesAt(document, path)) take(shape, [...path, key], readTalos(document, path, key));
  };
  const byKubelet = (path: Path, configuration: string): void => {
    for (const [at, text] of flagTexts(document, [...path, 'extraArgs', 'register-with-taints'])) {
      for (const taint of text.split(',')) if (text !== '') take('register-with-taints', at, readKubeletTaint(taint));
    }
    const list = [...path, configuration, 'registerWithTaints'];
    const items = valueAt(document.value, list);
    if (items === undefined || items === null) return;
    if (!Array.isArray(items)) {
      refuse(list, 'this is no list of taints', `a list of ${LIST_NOTATION}`);
      return;
    }
    for (const index of items.keys()) {
      if (items[index] !== null) take('registerWithTaints', [...list, index], readItem(document, [...list, index]));
    }
  };

  if (kind === undefined) {
    byTalos('nodeTaints', ['machine', 'nodeTaints']);
    byKubelet(['machine', 'kubelet'], 'extraConfig');
  } else if (kind === 'KubeNodeConfig') {
    byTalos('KubeNodeConfig', ['taints']);
  } else if (kind === 'KubeletConfig') {
    byKubelet([], 'config');
  }
  return result;
}

const LIST_NOTATION = '{ key, value, effect }';

function readTalos(document: SourceDocument, path: Path, key: string): ReadTaint {
  const text = textAt(document, [...path, key]);
  if (text === undefined) return { ok: false, problem: 'this is no text', expected: TALOS_NOTATION };
  return readTalosTaint(key, text);
}

function readItem(document: SourceDocument, path: Path): ReadTaint {
  if (!isMapping(valueAt(document.value, path)))
    return { ok: false, problem: 'this is no taint', expected: LIST_NOTATION };
  const text = (field: string) => textAt(document, [...path, field]) ?? '';
  return checkTaint({ key: text('key'), value: text('value'), effect: text('effect') }, LIST_NOTATION);
}

/** Flags are a text or, since Talos 1.13, a list of texts, which repeats the flag. */
function flagTexts(document: SourceDocument, path: Path): [at: Path, text: string][] {
  const value = valueAt(document.value, path);
  const places = Array.isArray(value) ? [...value.keys()].map((index) => [...path, index]) : [path];
  return places.flatMap((at): [Path, string][] => {
    const text = textAt(document, at);
    return text === undefined ? [] : [[at, text]];
  });
}

function isNoMapping({ value }: SourceDocument, path: Path): boolean {
  const found = valueAt(value, path);
  return found !== undefined && found !== null && !isMapping(found);
}

/** A node label that a machine configuration declares. */
export interface DeclaredLabel {
  readonly key: string;
  readonly value: string;
}

/** By Talos, or by the kubelet's flag `--node-labels`, as for taints. */
export type LabelShape = 'nodeLabels' | 'KubeNodeConfig' | 'node-labels';

export type FoundLabel = Declared<DeclaredLabel> & { readonly shape: LabelShape };

/** The node labels of one document, and its invalid ones. */
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
