import { dialPort, listenTcp } from './tcp-listener.ts';

/** Stands between a client and one server, to do to their connections what a bad network does. */
export interface TcpProxy {
  readonly port: number;
  /** Where clients connect instead, such as `https://127.0.0.1:port`; certificates are the server's own. */
  readonly url: string;
  /**
   * Forwards nothing any more, in either direction, and closes nothing: connections are half open, as behind a
   * firewall that has forgotten them. New connections are accepted, and stay as silent.
   */
  pause(): void;
  /** Forwards again: what was sent meanwhile arrives, as after a partition that TCP has outlived. */
  resume(): void;
  /** Makes either direction so many milliseconds longer, for the connections that are open now and for new ones; 0 ends that. */
  delay(ms: number): void;
  /** Resets all connections that are open now. New ones are served. */
  dropConnections(): void;
  stop(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Puts a proxy before a server on 127.0.0.1, such as the API server.
 *
 * @param url of the server; only its scheme and port are used
 * @param host the address to listen at, 127.0.0.1 unless said otherwise
 */
export async function startTcpProxy(url: string, host?: string): Promise<TcpProxy> {
  const { protocol, port } = new URL(url);
  let paused = false;
  let delayMs = 0;
  const listener = await listenTcp(
    () => dialPort(Number(port)),
    (made) => {
      made.delay(delayMs);
      if (paused) made.freeze();
    },
    host,
  );
  return {
    port: listener.port,
    url: `${protocol}//127.0.0.1:${listener.port}`,
    pause: () => {
      paused = true;
      for (const made of listener.relays()) made.freeze();
    },
    resume: () => {
      paused = false;
      for (const made of listener.relays()) made.thaw();
    },
    delay: (ms) => {
      delayMs = ms;
      for (const made of listener.relays()) made.delay(ms);
    },
    dropConnections: () => {
      for (const made of listener.relays()) made.reset();
    },
    stop: listener.close,
    [Symbol.asyncDispose]: listener.close,
  };
}
