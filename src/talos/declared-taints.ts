import type { SourceDocument } from '../files/documents.ts';
import type { Path } from '../policy/problem.ts';
import { sameTaint } from '../policy/taint.ts';
import { type Declared, type Malformed, malformed } from './declared.ts';
import {
  checkTaint,
  type DeclaredTaint,
  type ReadTaint,
  readKubeletTaint,
  readTalosTaint,
  TALOS_NOTATION,
} from './taint-notation.ts';
import { entriesAt, isMapping, kindOf, textAt, valueAt } from './tree.ts';

/**
 * How a taint is declared: by Talos (`machine.nodeTaints` up to 1.13, the document KubeNodeConfig since 1.14), which keeps
 * applying it, or by the kubelet's flag or configuration, which say what a node has when it registers. The kubelet's two
 * stand in `machine.kubelet` (extraArgs, extraConfig) or, since 1.14, in the document KubeletConfig (extraArgs, config).
 */
export type TaintShape = 'nodeTaints' | 'KubeNodeConfig' | 'register-with-taints' | 'registerWithTaints';

export type FoundTaint = Declared<DeclaredTaint> & { readonly shape: TaintShape };

/** True when both say the same of their key. */
export function sameDeclaration(a: FoundTaint, b: FoundTaint): boolean {
  return sameTaint(a.value, b.value) && a.value.value === b.value.value;
}

interface Found {
  readonly found: FoundTaint[];
  readonly malformed: Malformed[];
}

/** The taints of one document, and what should be some and cannot be read. */
export function readTaints(document: SourceDocument): Found {
  const result: Found = { found: [], malformed: [] };
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

/** Flags are a text or, since Talos 1.13, a list of texts, which makes the flag be given several times. */
export function flagTexts(document: SourceDocument, path: Path): [at: Path, text: string][] {
  const value = valueAt(document.value, path);
  const places = Array.isArray(value) ? [...value.keys()].map((index) => [...path, index]) : [path];
  return places.flatMap((at): [Path, string][] => {
    const text = textAt(document, at);
    return text === undefined ? [] : [[at, text]];
  });
}

export function isNoMapping({ value }: SourceDocument, path: Path): boolean {
  const found = valueAt(value, path);
  return found !== undefined && found !== null && !isMapping(found);
}
