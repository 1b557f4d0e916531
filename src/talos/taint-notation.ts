import { isLabelValue, isQualifiedName } from '../kubernetes/names.ts';
import { TAINT_EFFECTS } from '../kubernetes/taint.ts';

/** A taint that a machine configuration declares. */
export interface TaintFields {
  readonly key: string;
  /** Empty for a taint without a value. */
  readonly value: string;
  readonly effect: string;
}

export type ReadTaint =
  | { readonly ok: true; readonly taint: TaintFields }
  | { readonly ok: false; readonly problem: string; readonly expected: string };

/** `value:Effect` or `Effect`, as in `machine.nodeTaints` and KubeNodeConfig (ValidateTaints of Talos' pkg/machinery/labels). */
export function readTalosTaint(key: string, text: string): ReadTaint {
  const colon = text.indexOf(':');
  const value = colon < 0 ? '' : text.slice(0, colon);
  const read = checkTaint({ key, value, effect: text.slice(colon + 1) }, TALOS_NOTATION);
  return read.ok ? read : { ...read, expected: rewritten(key, text) ?? read.expected };
}

/** A taint in the notation of kubectl and the kubelet, in that of Talos: `dedicated: gpu:NoSchedule`. */
function rewritten(key: string, text: string): string | undefined {
  for (const candidate of [`${key}:${text}`, key, text]) {
    const read = readKubeletTaint(candidate);
    if (read.ok) return `${read.taint.key}: ${[read.taint.value, read.taint.effect].filter(Boolean).join(':')}`;
  }
  return undefined;
}

/** `key=value:Effect` or `key:Effect`, as in the kubelet's `--register-with-taints` (parseTaint of k8s.io/kubernetes/pkg/util/taints). */
export function readKubeletTaint(text: string): ReadTaint {
  const [left = '', effect = '', ...more] = text.split(':');
  const [key = '', value = '', ...rest] = left.split('=');
  if (more.length + rest.length > 0) return { ok: false, problem: `"${text}" is no taint`, expected: KUBELET_NOTATION };
  return checkTaint({ key, value, effect }, KUBELET_NOTATION);
}

const TALOS_NOTATION = 'value:Effect, or Effect alone';
const KUBELET_NOTATION = 'key=value:Effect, or key:Effect';

/** @param expected the expected form of a taint */
export function checkTaint(taint: TaintFields, expected: string): ReadTaint {
  const refuse = (problem: string): ReadTaint => ({ ok: false, problem, expected });
  if (!isQualifiedName(taint.key)) return refuse(`"${taint.key}" is no taint key (NAME or DOMAIN/NAME)`);
  if (!(TAINT_EFFECTS as readonly string[]).includes(taint.effect)) {
    const one = TAINT_EFFECTS.join(', ');
    const near = TAINT_EFFECTS.find((effect) => effect.toLowerCase() === taint.effect.toLowerCase());
    const hint = near ? ` (effects are case-sensitive: ${near})` : ` (there are ${one})`;
    return refuse(`"${taint.effect}" is no effect${hint}`);
  }
  if (!isLabelValue(taint.value)) return refuse(`"${taint.value}" is no taint value`);
  return { ok: true, taint };
}
