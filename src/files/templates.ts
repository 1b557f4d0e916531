import { Lexer } from 'yaml';
import type { Path } from '../policy/problem.ts';

export const TEMPLATE_ADVICE = 'this is a template: render it first, for example with helm template';

/** Where the first action of a Go or Helm template is; undefined for none. Texts in quotes, comments and block scalars may contain braces. */
export function templateAt(text: string): number | undefined {
  let offset = 0;
  let before = '';
  for (const token of new Lexer().lex(text)) {
    if (token === '{' && before === '{') return offset - 1;
    before = token;
    if (!MARKS.includes(token)) offset += token.length;
  }
  return undefined;
}

/** Tokens of the lexer that stand for no character: the start of a document, the end of a broken flow collection, and the start of a scalar. */
const MARKS = ['\u0002', '\u0018', '\u001F'];

/** Kinds whose specs have names, labels and tolerations, in which Kubernetes allows no braces. */
const WITHOUT_BRACES = ['Node', 'Pod', 'DaemonSet', 'Deployment', 'ReplicaSet', 'StatefulSet', 'Job', 'CronJob'];

/** Parts of an object in which templates are usual: of Prometheus' alerts, or of the program that a container runs. */
const FREE_TEXTS = ['annotations', 'managedFields', 'containers', 'initContainers', 'ephemeralContainers', 'volumes'];

/** The field with an action of a template, in an object that YAML's parser accepts, such as `name: agent-{{ .Release.Name }}`. */
export function templatePath({
  apiVersion,
  kind,
  metadata,
  spec,
}: Readonly<Record<string, unknown>> & { readonly kind: string }): Path | undefined {
  return actionIn({ apiVersion, kind, metadata, ...(WITHOUT_BRACES.includes(kind) ? { spec } : {}) });
}

/** No name, label or toleration is nested deeper. */
const MAX_DEPTH = 16;

function actionIn(value: unknown, depth = 0): Path | undefined {
  if (typeof value === 'string') return /\{\{.*\}\}/s.test(value) ? [] : undefined;
  if (typeof value !== 'object' || value === null || depth > MAX_DEPTH) return undefined;
  for (const [key, item] of Object.entries(value)) {
    const path = FREE_TEXTS.includes(key) ? undefined : actionIn(item, depth + 1);
    if (path) return [Array.isArray(value) ? Number(key) : key, ...path];
  }
  return undefined;
}
