import { type Expression, other } from './expression.ts';

/** `key=value:Effect` or `key:Effect`, as kubectl writes a taint `t`: {@link formatTaint} in CEL. */
export const WRITTEN: Expression = other(
  't.key + (has(t.value) && t.value != "" ? "=" + t.value : "") + ":" + t.effect',
  180,
);
