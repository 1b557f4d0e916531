import { existsSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, dirname, join, resolve, sep } from 'node:path';
import { groupsBy } from '../../collections/groups-by.ts';
import { parseDocuments } from '../../files/documents.ts';
import { InputError } from '../../files/input-error.ts';
import { unreadable } from '../../files/text-files.ts';
import type { KubeConfig } from './client-node.ts';

const SERVICE_ACCOUNT_FOLDER = '/var/run/secrets/kubernetes.io/serviceaccount';

/** Where the address of the API server and the credentials come from. */
export type ConfigSource =
  /** The service account of the pod. `root` is a prefix of the paths of its files. */
  | { readonly kind: 'pod'; readonly root: string }
  /** Kubeconfig files, merged as kubectl does. Without a context, the current one counts. */
  | { readonly kind: 'files'; readonly files: readonly string[]; readonly context?: string };

/** The user's options that name the cluster. */
export interface ClusterChoice {
  /** A kubeconfig file. */
  readonly kubeconfig?: string | undefined;
  /** One of the contexts of the kubeconfig. */
  readonly context?: string | undefined;
}

export interface ConfigSurroundings {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly home: string;
  /** Prefix of the paths of the service account's files. */
  readonly root: string;
}

/**
 * Finds the configuration in the order of controller-runtime: the named file, else KUBECONFIG, else the pod's service account, else `~/.kube/config`.
 * kubectl takes the service account last.
 * @throws InputError if there is none, or none with contexts although one is named
 */
export function findConfig(
  { kubeconfig, context }: ClusterChoice,
  { env, home, root }: ConfigSurroundings = { env: process.env, home: homedir(), root: '' },
): ConfigSource {
  const filesOf = (files: readonly string[]): ConfigSource => ({
    kind: 'files',
    files,
    ...(context === undefined ? {} : { context }),
  });
  if (kubeconfig !== undefined) return filesOf([kubeconfig]);
  if (env.KUBECONFIG) {
    const files = env.KUBECONFIG.split(delimiter).filter((file) => file !== '' && existsSync(file));
    if (files.length === 0) throw new InputError([`KUBECONFIG=${env.KUBECONFIG}: there is no such file`]);
    return filesOf(files);
  }
  if (env.KUBERNETES_SERVICE_HOST) {
    if (context !== undefined)
      throw new InputError([`--context ${context}: a service account has none; name a file with --kubeconfig`]);
    return { kind: 'pod', root };
  }
  const file = join(home, '.kube', 'config');
  if (existsSync(file)) return filesOf([file]);
  throw new InputError([
    `no cluster: pass --kubeconfig, set KUBECONFIG, create ${file}, or run in a pod that has a service account`,
  ]);
}

/**
 * Reads the configuration.
 * @param Config the class; it is loaded on demand, because it costs memory that programs without a cluster do not need
 * @throws InputError with a remedy if it cannot be used
 */
export function loadConfig(source: ConfigSource, Config: typeof KubeConfig): KubeConfig {
  const config = source.kind === 'pod' ? loadPod(source.root, Config) : loadFiles(source.files, Config);
  const where = source.kind === 'pod' ? 'service account' : source.files.join(delimiter);
  if (source.kind === 'files' && source.context !== undefined) choose(source.context, config, where);
  const context = config.getCurrentContext();
  if (!context) throw new InputError([`${where}: has no current-context; choose one with --context`]);
  const cluster = config.getCurrentCluster();
  if (!cluster) throw new InputError([`${where}: context ${context} names no cluster that is in the file`]);
  const user: FileUser | null = config.getCurrentUser();
  // Without a user, KubeConfig also leaves out the cluster's CA.
  if (!user) throw new InputError([`${where}: context ${context} names no user that is in the file`]);
  if (user.unusable) throw new InputError([`${where}: user ${user.name}: ${user.unusable}`]);
  if (user.notSent?.length) {
    throw new InputError([
      `${where}: user ${user.name}: ${user.notSent.join(', ')} is not supported, and without it requests would have other rights than those of kubectl. ` +
        'Choose another context with --context',
    ]);
  }
  if (!/^https?:\/\//.test(cluster.server) || !URL.canParse(cluster.server)) {
    throw new InputError([`${where}: server ${cluster.server} is not a URL`]);
  }
  if (cluster.server.startsWith('http:') && !cluster.skipTLSVerify) {
    throw new InputError([
      `${where}: server ${cluster.server} is not https; if that is meant, set insecure-skip-tls-verify: true`,
    ]);
  }
  return config;
}

/** The namespace of the pod whose service account it is. Undefined for kubeconfig files. */
export function podNamespace(source: ConfigSource, config: KubeConfig): string | undefined {
  if (source.kind !== 'pod') return undefined;
  return config.getContextObject(config.getCurrentContext())?.namespace?.trim() || undefined;
}

function choose(context: string, config: KubeConfig, where: string): void {
  const names = config.getContexts().map(({ name }) => name);
  if (!names.includes(context)) {
    throw new InputError([`${where}: there is no context ${context}; there is ${names.join(', ') || 'none at all'}`]);
  }
  config.setCurrentContext(context);
}

/** As kubectl merges files: the first one that names a cluster, a user, a context or the current context decides. */
function loadFiles(files: readonly string[], Config: typeof KubeConfig): KubeConfig {
  const configs = files.map((file) => loadFile(file, Config));
  const merged = new Config();
  merged.loadFromOptions({
    clusters: firstOfEachName(configs.flatMap((config) => config.clusters)),
    contexts: firstOfEachName(configs.flatMap((config) => config.contexts)),
    users: firstOfEachName(configs.flatMap((config) => config.users)),
    currentContext: configs.map((config) => config.currentContext).find(Boolean),
  });
  return merged;
}

function firstOfEachName<Named extends { readonly name: string }>(all: readonly Named[]): Named[] {
  return groupsBy(all, ({ name }) => name).map(([first]) => first);
}

/** A file without content is one without entries. */
function loadFile(file: string, Config: typeof KubeConfig): KubeConfig {
  const content = readKubeconfig(file);
  const folder = dirname(file);
  const config = new Config();
  try {
    config.loadFromString(JSON.stringify(content));
    config.makePathsAbsolute(folder);
    const { users } = content as { readonly users?: readonly { readonly user?: UnreadFields | null }[] };
    config.users = config.users.map((user, index) => withUnread(user, users?.[index]?.user ?? {}, folder));
  } catch (error) {
    throw new InputError([`${file}: cannot be read as a kubeconfig: ${(error as Error).message}`]);
  }
  return config;
}

type User = NonNullable<ReturnType<KubeConfig['getCurrentUser']>>;

interface FileUser extends User {
  /** The fields of the user that change its rights, and that KubeConfig does not send. */
  readonly notSent?: readonly string[];
  /** Why its credentials cannot be used. */
  readonly unusable?: string;
}

/** Fields of a user of client-go (k8s.io/client-go/tools/clientcmd/api/v1, AuthInfo) that KubeConfig does not read. */
interface UnreadFields {
  readonly tokenFile?: string;
  readonly 'as-groups'?: readonly string[];
  readonly 'as-uid'?: string;
  readonly 'as-user-extra'?: Readonly<Record<string, readonly string[]>>;
}

const NOT_SENT = ['as-groups', 'as-uid', 'as-user-extra'] as const;

/** @param folder of the file, to which paths are relative */
function withUnread(user: User, fields: UnreadFields, folder: string): FileUser {
  const notSent = NOT_SENT.filter((name) => Object.keys(fields[name] ?? {}).length > 0);
  return { ...withCredentials(user, fields, folder), ...(notSent.length > 0 ? { notSent } : {}) };
}

function withCredentials(user: User, { tokenFile }: UnreadFields, folder: string): FileUser {
  const { token, exec, ...others } = user;
  if (tokenFile) {
    const file = resolve(folder, tokenFile);
    const fault = faultOfReading(file);
    // It counts before a token and a plugin, as in client-go. KubeConfig reads it again every minute.
    if (!fault) return { ...others, authProvider: { name: 'tokenFile', config: { tokenFile: file } } };
    return token ? { ...others, token } : { ...others, unusable: `tokenFile ${fault}` };
  }
  // PATH finds a command without a separator.
  const isPath = (exec as { command?: string } | null | undefined)?.command?.includes(sep);
  return isPath ? { ...user, exec: { ...exec, command: resolve(folder, exec.command) } } : user;
}

function faultOfReading(file: string): string | undefined {
  try {
    readFileSync(file);
    return undefined;
  } catch (error) {
    return unreadable(file, error);
  }
}

/**
 * The first document of the file, which is the one that kubectl reads.
 * @throws InputError, which quotes nothing: it may be a token
 */
function readKubeconfig(file: string): unknown {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw new InputError([unreadable(file, error)]);
  }
  const [document] = parseDocuments(text, file, { secret: true });
  return document?.value ?? {};
}

function loadPod(root: string, Config: typeof KubeConfig): KubeConfig {
  for (const name of ['token', 'ca.crt']) {
    const file = `${root}${SERVICE_ACCOUNT_FOLDER}/${name}`;
    if (existsSync(file)) continue;
    throw new InputError([`${file}: there is no such file; the pod needs automountServiceAccountToken: true`]);
  }
  const config = new Config();
  config.loadFromCluster(root);
  return config;
}
