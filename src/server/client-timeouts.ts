/** Limits for clients. */
export interface ClientTimeouts {
  readonly keepAliveMs: number;
  /** From the start of a connection, or from the first byte of a further request, to the end of the headers. */
  readonly headersMs: number;
  /** From the end of the headers to the end of the request. */
  readonly bodyMs: number;
  /** After how many checks a body is closed that takes the room for which others wait. */
  readonly slowChecks: number;
  readonly handshakeMs: number;
  /** How often requests over their limits are searched: they may take this much longer. */
  readonly checkIntervalMs: number;
}

export const CLIENT_TIMEOUTS: ClientTimeouts = {
  // The API server keeps idle connections for 90 s. If this end closes first, a request that is being sent at that moment is lost, and the API server
  // does not send it again.
  keepAliveMs: 120_000,
  // The API server opens some connections in reserve, and a call may arrive when one is closed.
  headersMs: 100_000,
  // A webhook's timeout is 30 s at most and 10 s by default: a slower client is no API server.
  bodyMs: 10_000,
  // An API server sends a body in milliseconds, and waits two seconds for the answer.
  slowChecks: 3,
  handshakeMs: 5_000,
  checkIntervalMs: 500,
};
