import type { SourceDocument } from '../files/documents.ts';
import { isMapping, valueAt } from '../kubernetes/json.ts';
import { isLabelValue, isQualifiedName } from '../kubernetes/names.ts';
import { sameTaint } from '../kubernetes/taint.ts';
import type { Path } from '../policy/problem.ts';
import { checkTaint, type DeclaredTaint, type ReadTaint, readKubeletTaint, readTalosTaint } from './taint-notation.ts';
import { entriesAt, kindOf, textAt } from './tree.ts';

/** A place in a machine configuration or a patch of one. */
export interface FieldLocation {
  readonly document: SourceDocument;
  readonly path: Path;
}

/** A value, and its place in the files. */
export interface Declared<T> extends FieldLocation {
  readonly value: T;
}

/** A part of a configuration that cannot be used: an invalid taint, label, annotation or type of machine, or a tab in the indentation. */
export interface Malformed extends FieldLocation {
  readonly problem: string;
  /** The expected form. */
  readonly expected: string;
  /** Both, in one sentence. */
  readonly message: string;
}

export function malformed({ document, path }: FieldLocation, problem: string, expected: string): Malformed {
  return { document, path, problem, expected, message: `${problem}: expected ${expected}` };
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
    result.malformed.push(malformed({ document, path }, problem, expected));
  };
  const take = (shape: TaintShape, path: Path, read: ReadTaint): void => {
    if (read.ok) result.found.push({ shape, value: read.taint, document, path });
    else refuse(path, read.problem, read.expected);
  };
  const kind = kindOf(document);

  // Another value than a text, or a list or mapping of these, is no taint: type-check.ts reports it.
  const byTalos = (shape: TaintShape, path: Path): void => {
    for (const [key] of entriesAt(document, path)) {
      const text = textAt(document, [...path, key]);
      if (text !== undefined) take(shape, [...path, key], readTalosTaint(key, text));
    }
  };
  const byKubelet = (path: Path, configuration: string): void => {
    for (const [at, text] of flagTexts(document, [...path, 'extraArgs', 'register-with-taints'])) {
      for (const taint of text.split(',')) if (text !== '') take('register-with-taints', at, readKubeletTaint(taint));
    }
    const list = [...path, configuration, 'registerWithTaints'];
    const items = valueAt(document.value, list);
    for (const index of Array.isArray(items) ? items.keys() : []) {
      const read = readItem(document, [...list, index]);
      if (read) take('registerWithTaints', [...list, index], read);
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

/** Undefined for what is no mapping of scalars. A number is read as a taint's value, too: the kubelet refuses only its type. */
function readItem(document: SourceDocument, path: Path): ReadTaint | undefined {
  if (!isMapping(valueAt(document.value, path))) return undefined;
  const [key, value, effect] = ['key', 'value', 'effect'].map((field) => {
    const found = valueAt(document.value, [...path, field]);
    return found === undefined ? '' : textAt(document, [...path, field]);
  });
  if (key === undefined || value === undefined || effect === undefined) return undefined;
  return checkTaint({ key, value, effect }, LIST_NOTATION);
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
    for (const [key] of entriesAt(document, path)) {
      const value = textAt(document, [...path, key]);
      if (value !== undefined) take(shape, [...path, key], key, value);
    }
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

/** Annotations by which Talos records what it has set. */
const RESERVED_ANNOTATIONS: readonly string[] = ['annotations', 'labels', 'taints'].map(
  (what) => `talos.dev/owned-${what}`,
);

/** The node annotations of one document that Talos refuses (ValidateAnnotations of its pkg/machinery/labels). */
export function malformedAnnotations(document: SourceDocument): Malformed[] {
  const kind = kindOf(document);
  const path =
    kind === undefined ? ['machine', 'nodeAnnotations'] : kind === 'KubeNodeConfig' ? ['annotations'] : undefined;
  return (path ? entriesAt(document, path) : []).flatMap(([key]) => {
    const at = { document, path: [...(path ?? []), key] };
    if (!isQualifiedName(key)) return [malformed(at, `"${key}" is no annotation key`, 'NAME or DOMAIN/NAME')];
    return RESERVED_ANNOTATIONS.includes(key)
      ? [malformed(at, `${key} is for Talos to set`, 'another annotation')]
      : [];
  });
}
