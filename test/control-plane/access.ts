import { KubeConfig } from '@kubernetes/client-node';
import type { Authority, KeyPair } from './credentials.ts';
import { createRestClient, type RestClient } from './rest.ts';
import type { User } from './users.ts';
import type { Workspace } from './workspace.ts';

/** The ways in which one user reaches the API server. */
export interface Access {
  /** Sends raw requests. */
  rest: RestClient;
  /** For the official client. */
  kubeConfig: KubeConfig;
  kubeconfigFile: string;
}

/** Gives each user one client certificate for each way to the API server, on first demand. */
export interface AccessDesk {
  /** @param through another way to the API server than its own address, such as a proxy's URL */
  of(user: User, through?: string): Promise<Access>;
  close(): void;
}

/** @param url of the API server */
export function createAccessDesk(url: string, authority: Authority, workspace: Workspace): AccessDesk {
  const issued = new Map<string, Promise<Access>>();

  async function issue(user: User, server: string, ordinal: number): Promise<Access> {
    const pair = await authority.client(user);
    const kubeConfig = toKubeConfig(server, authority.cert, user.name, pair);
    return {
      rest: createRestClient(server, authority.cert, pair),
      kubeConfig,
      kubeconfigFile: workspace.write(`kubeconfig-${ordinal}.json`, kubeConfig.exportConfig()),
    };
  }

  return {
    of: (user, through = url) => {
      const key = JSON.stringify([user.name, user.groups, through]);
      const access = issued.get(key) ?? issue(user, through, issued.size + 1);
      issued.set(key, access);
      return access;
    },
    close: () => {
      for (const access of issued.values()) access.then(({ rest }) => rest.close());
    },
  };
}

function toKubeConfig(url: string, ca: string, name: string, pair: KeyPair): KubeConfig {
  const base64 = (pem: string) => Buffer.from(pem).toString('base64');
  const kubeConfig = new KubeConfig();
  kubeConfig.loadFromClusterAndUser(
    { name: 'test', server: url, caData: base64(ca), skipTLSVerify: false },
    { name, certData: base64(pair.cert), keyData: base64(pair.key) },
  );
  return kubeConfig;
}
