import { type ClientRequest, Agent as HttpAgent, type IncomingMessage, request as requestHttp } from 'node:http';
import { Agent, type AgentOptions, type RequestOptions, request as requestHttps } from 'node:https';
import { readablePrivateKey } from '../../files/private-key.ts';
import { orAborted } from '../../runtime/abort.ts';
import type { KubeConfig } from './client-node.ts';
import { createConnectionPools } from './connection-pools.ts';
import { ClosedWhileUnused, exchange } from './exchange.ts';

/** An unused connection is closed after this long: well before the API server closes it (90 s), so that it does not close during a write. */
const FREE_CONNECTION_MS = 30_000;
/** The first TCP probe of a silent connection, as in client-go. */
const TCP_KEEP_ALIVE_MS = 30_000;
const KEPT = { keepAlive: true, keepAliveMsecs: TCP_KEEP_ALIVE_MS, timeout: FREE_CONNECTION_MS };
/** The minimum time between two reads of the configuration, whatever the number of refused requests. */
const RELOAD_INTERVAL_MS = 10_000;

export interface WireRequest {
  readonly method: string;
  /** With the query, without the server. */
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
}

/** Sends requests to the API server with the credentials of the configuration, over kept connections. */
export interface Transport {
  /**
   * The head of the answer. The signal also ends the body.
   * @throws Error from the credentials, the connection, or the signal's reason
   */
  send(request: WireRequest, signal: AbortSignal): Promise<IncomingMessage>;
  /** Reads the configuration again for the next request: the API server no longer accepts the credentials. */
  reload(): void;
  /** Closes unused connections: one of them was dead, and the others use the same path. */
  closeUnused(): void;
  /**
   * The same credentials, sent to another API server of the cluster over connections of its own.
   * @throws Error if the configuration does not verify API servers: the credentials could reach any program at that address
   */
  at(place: ApiServerPlace): Transport;
  close(): void;
}

/** One of several API servers of a cluster. */
export interface ApiServerPlace {
  /** An IP address and a port, as in a URL. */
  readonly address: string;
  /** The name that its certificate must have. */
  readonly serverName: string;
}

/**
 * Credentials are requested before each request. KubeConfig then follows rotated tokens and certificates, runs exec plugins, and caches what can be
 * cached (a service account's token for 60 s, as client-go does). The connections are managed here, because KubeConfig's agents neither keep
 * connections nor update certificates.
 *
 * A proxy is used if the kubeconfig has a `proxy-url`. HTTPS_PROXY is ignored: Node.js does not support address ranges (10.96.0.0/12) in NO_PROXY,
 * and would send cluster-internal traffic to the proxy.
 *
 * @param load reads the configuration; after an error, the current one stays
 */
export function createTransport(first: KubeConfig, load: () => KubeConfig): Transport {
  let config = first;
  let loadedAt = performance.now();
  const credentials = async () => {
    const options: RequestOptions = {};
    await config.applyToHTTPSOptions(options);
    return options;
  };
  const reload = () => {
    if (performance.now() - loadedAt < RELOAD_INTERVAL_MS) return;
    loadedAt = performance.now();
    try {
      config = load();
    } catch {
      // It is being written, or was deleted. The current one is no worse.
    }
  };
  const server = new URL(first.getCurrentCluster()?.server ?? '');
  return transportTo(server, undefined, {
    currentCluster: () => config.getCurrentCluster(),
    credentials,
    load,
    reload,
  });
}

/** What transports to the API servers of one cluster share. */
interface Shared {
  currentCluster(): ReturnType<KubeConfig['getCurrentCluster']>;
  credentials(): Promise<RequestOptions>;
  load(): KubeConfig;
  reload(): void;
}

/** @param serverName the name that the certificate must have; undefined: the one of the configuration */
function transportTo(server: URL, serverName: string | undefined, shared: Shared): Transport {
  let closed = false;
  const named = serverName === undefined ? {} : { servername: serverName };
  const basePath = server.pathname.replace(/\/$/, '');
  const isTls = server.protocol === 'https:';
  const pools = createConnectionPools(makeAgent);

  async function makeAgent(tls: AgentOptions): Promise<HttpAgent> {
    const cluster = shared.currentCluster();
    if (!cluster?.proxyUrl) return isTls ? new Agent({ ...tls, ...KEPT }) : new HttpAgent(KEPT);
    // KubeConfig knows the proxies, but never replaces an agent that it made, so each agent gets a KubeConfig of its own.
    const single = shared.load();
    single.loadFromClusterAndUser(serverName === undefined ? cluster : { ...cluster, tlsServerName: serverName }, {
      name: '',
      ...base64('certData', tls.cert),
      ...base64('keyData', tls.key),
    });
    const options: RequestOptions = { timeout: FREE_CONNECTION_MS };
    await single.applyToHTTPSOptions(options);
    return Object.assign(options.agent as HttpAgent, KEPT);
  }

  async function attempt(wire: WireRequest, signal: AbortSignal): Promise<IncomingMessage> {
    const options = { ...(await orAborted(shared.credentials(), signal)), ...named };
    if (closed) throw new Error('the client is closed');
    const pool = pools.take(tlsOptions(options));
    let outgoing: ClientRequest;
    try {
      outgoing = toOutgoing(await orAborted(pool.agent, signal), options, wire, signal);
    } catch (error) {
      pools.release(pool);
      throw error;
    }
    return exchange(outgoing, wire.body, () => pools.release(pool));
  }

  function toOutgoing(
    agent: HttpAgent,
    options: RequestOptions,
    wire: WireRequest,
    signal: AbortSignal,
  ): ClientRequest {
    return (isTls ? requestHttps : requestHttp)({
      agent,
      signal,
      method: wire.method,
      protocol: server.protocol,
      host: server.hostname.replace(/^\[|\]$/g, ''),
      port: server.port || (isTls ? 443 : 80),
      path: basePath + wire.target,
      ...(options.auth ? { auth: options.auth } : {}),
      headers: { ...trimmed(options.headers as Record<string, string> | undefined), ...wire.headers },
    });
  }

  return {
    async send(wire, signal) {
      try {
        return await attempt(wire, signal);
      } catch (error) {
        signal.throwIfAborted();
        if (wire.method !== 'GET' || !(error instanceof ClosedWhileUnused)) throw error;
        return await attempt(wire, signal);
      }
    },
    reload: shared.reload,
    closeUnused: () => pools.closeUnused(),
    at({ address, serverName: name }) {
      if (!isTls || shared.currentCluster()?.skipTLSVerify) {
        throw new Error(
          'the kubeconfig does not verify the API server, so its credentials are sent to no other address',
        );
      }
      return transportTo(new URL(`https://${address}`), name, shared);
    },
    close() {
      closed = true;
      pools.close();
    },
  };
}

/** A token that was read from a file may end in a newline, which a header may not. */
function trimmed(headers: Readonly<Record<string, string>> = {}): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, value.trim()]));
}

/** The form in which KubeConfig accepts the content of a file. */
function base64(name: 'certData' | 'keyData', pem: unknown): { certData?: string; keyData?: string } {
  return pem ? { [name]: Buffer.from(String(pem)).toString('base64') } : {};
}

function tlsOptions({ ca, cert, key, servername, rejectUnauthorized }: RequestOptions): AgentOptions {
  return {
    ...(ca ? { ca } : {}),
    ...(cert ? { cert } : {}),
    ...(key ? { key: readablePrivateKey(String(key)) } : {}),
    ...(servername ? { servername } : {}),
    ...(rejectUnauthorized === undefined ? {} : { rejectUnauthorized }),
  };
}
