/** The ports of `taintkeeper serve` without an option: of the HTTPS listener, and of the plain one. */
export const DEFAULT_PORTS = { webhook: 8443, admin: 8080 } as const;
