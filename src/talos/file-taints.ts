import type { SourceDocument } from '../files/documents.ts';
import { isMapping, valueAt } from '../kubernetes/json.ts';
import { sameTaint } from '../kubernetes/taint.ts';
import type { Path } from '../policy/problem.ts';
import { entryTexts, flagTexts, kindOf, textAt } from './document-values.ts';
import { type Located, type Malformed, malformed } from './field-location.ts';
import { checkTaint, type ReadTaint, readKubeletTaint, readTalosTaint, type TaintFields } from './taint-notation.ts';

/**
 * How a taint is declared. Talos keeps applying its own declarations: `machine.nodeTaints` up to 1.13, and the document KubeNodeConfig since 1.14.
 * The kubelet's flag or configuration only applies when a node registers: it is in `machine.kubelet` (extraArgs, extraConfig) or, since 1.14, in the
 * document KubeletConfig (extraArgs, config).
 */
type TaintShape = 'nodeTaints' | 'KubeNodeConfig' | 'register-with-taints' | 'registerWithTaints';

export type FileTaint = Located<TaintFields> & { readonly shape: TaintShape };

/** True if both declare the same for their key. */
export function sameDeclaration(a: FileTaint, b: FileTaint): boolean {
  return sameTaint(a.value, b.value) && a.value.value === b.value.value;
}

interface TaintsOfDocument {
  readonly found: FileTaint[];
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
    for (const [key, text] of entryTexts(document, path)) take(shape, [...path, key], readTalosTaint(key, text));
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
