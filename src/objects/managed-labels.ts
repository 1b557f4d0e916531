/** On every object that taintkeeper creates, but not in the output of `taintkeeper export`. */
export const MANAGED_LABELS = { 'app.kubernetes.io/managed-by': 'taintkeeper' };
