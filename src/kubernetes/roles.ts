/** The names of the control plane's label and taint: kubeadm has the new one since 1.20 (label) and 1.24 (taint). */
export const OLD_ROLE = 'node-role.kubernetes.io/master';
export const NEW_ROLE = 'node-role.kubernetes.io/control-plane';

/** The taints that keep workloads, and rarely daemons, off a control plane. */
export const ROLE_TAINT_KEYS = [OLD_ROLE, NEW_ROLE] as const;
