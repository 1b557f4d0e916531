import { join } from 'node:path';
import type { KubeConfig } from '@kubernetes/client-node';
import { capabilitiesOf } from '../../src/native/native-capabilities.ts';
import { createAccessDesk } from './access.ts';
import { type Assets, binaryPath, findAssets, obstacleTo } from './assets.ts';
import { type AuditEvent, findAuditEvent, readAuditLog } from './audit-log.ts';
import { createRoles, waitForControllers, waitForNamespaces } from './bootstrap.ts';
import * as components from './components.ts';
import { createAuthority, type KeyPair, serviceAccountKey } from './credentials.ts';
import { createFaults, type Faults } from './faults.ts';
import { type KubectlResult, runKubectl } from './kubectl.ts';
import { testedMinor } from './kubernetes.ts';
import { lastLines } from './process.ts';
import { type Answer, createRestClient, type Payload, type RestClient } from './rest.ts';
import { type RunningComponent, startComponent } from './start-component.ts';
import { admin, type User } from './users.ts';
import { createWorkspace, type Workspace } from './workspace.ts';

const DUMPED_LINES = 20;
/** The controller manager's own default. */
const NODE_MONITOR_GRACE_SECONDS = 50;
/** They are beta in Kubernetes 1.34 and 1.35. */
const MUTATING_POLICIES = [
  '--feature-gates=MutatingAdmissionPolicy=true',
  '--runtime-config=admissionregistration.k8s.io/v1beta1=true',
];

export interface ControlPlaneOptions {
  /** What runs besides etcd and the API server; by default nothing. */
  components?: readonly components.OptionalComponent[];
  /** After how many seconds without a heartbeat a node is `Unknown`; those of the kubelets keep pace. At least 4. */
  nodeMonitorGraceSeconds?: number;
  /** Path of the API server's audit policy, in place of audit-policy.yaml. */
  auditPolicy?: string;
  /**
   * Whether the API server looks up a Service's EndpointSlices itself, and calls webhooks there: nobody makes cluster IPs work
   * here. Then a Service of type ExternalName leads nowhere.
   */
  routesToEndpoints?: boolean;
  /** Whether there are MutatingAdmissionPolicies also where the API server has them off by default. */
  mutatingPolicies?: boolean;
  /** Further arguments of the API server. */
  apiServerArgs?: readonly string[];
  /** Given the URL of etcd, gives the one that the API server is to use: that of a proxy (see tcp-proxy.ts). */
  wayToEtcd?: (url: string) => Promise<string>;
  /** Whose certificate the API server shows to webhooks that ask for one; by default none. */
  webhookClient?: User;
}

/** The part of `/version` that tests go by. */
export interface ServerVersion {
  readonly gitVersion: string;
  readonly minor: number;
}

/** A control plane on 127.0.0.1 that belongs to one test. */
export interface ControlPlane extends Faults {
  readonly url: string;
  readonly caFile: string;
  /** What the API server says it is, such as `{ gitVersion: 'v1.36.3', minor: 36 }`. */
  readonly version: ServerVersion;
  /**
   * For the official client: `(await cp.client(admin)).makeApiClient(CoreV1Api)`.
   *
   * @param through the URL of a proxy (see tcp-proxy.ts) to take instead of the direct way
   */
  client(user: User, through?: string): Promise<KubeConfig>;
  /** A kubeconfig file, valid as long as the control plane; `through` as for `client`. */
  kubeconfigFile(user: User, through?: string): Promise<string>;
  /** Runs kubectl, as the admin unless said otherwise. Does not throw when kubectl fails. */
  kubectl(args: readonly string[], options?: { user?: User; input?: string }): Promise<KubectlResult>;
  /** One raw request, such as PATCH with a content type of its own. Does not throw for a status. */
  request<T = unknown>(user: User, method: string, path: string, payload?: Payload): Promise<Answer<T>>;
  /** Starts another API server of the same cluster, which shows no certificate to webhooks, and gives its URL. It ends with the control plane. */
  furtherApiServer(): Promise<string>;
  /** All audited requests until now: changes of nodes and DaemonSets (see audit-policy.yaml), unless said otherwise. */
  auditLog(): AuditEvent[];
  /** Where the API server writes them. */
  readonly auditFile: string;
  /** The audit event of one answer, waited for. */
  auditEvent(answer: Answer): Promise<AuditEvent>;
  /** All that a component has printed. */
  logs(component: components.Component): string;
  /** Prints the end of every component's log to stderr, for a test that failed. */
  dumpLogs(): void;
  /** Ends all processes and removes the files. */
  stop(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Starts etcd, kube-apiserver and what else is asked for, and waits until all of them are ready.
 *
 * @throws Error when a binary is missing, or a component does not get ready; then nothing is left running
 */
export async function startControlPlane(options: ControlPlaneOptions = {}): Promise<ControlPlane> {
  const assets = findAssets();
  const obstacle = obstacleTo(options.components ?? [], assets);
  if (obstacle) throw new Error(obstacle);

  const workspace = createWorkspace('control-plane');
  const running: Running = new Map();
  try {
    return await start(assets, options, workspace, running);
  } catch (error) {
    await tearDown(workspace, running);
    throw error;
  }
}

async function start(
  assets: Assets,
  options: ControlPlaneOptions,
  workspace: Workspace,
  running: Running,
): Promise<ControlPlane> {
  const authority = await createAuthority();
  const serving = await authority.serving({ names: ['kubernetes.default.svc'] });
  const adminPair = await authority.client(admin);
  const files: components.Files = {
    ca: workspace.write('ca.crt', authority.cert),
    cert: workspace.write('serving.crt', serving.cert),
    key: workspace.write('serving.key', serving.key),
    serviceAccountKey: workspace.write('service-account.key', serviceAccountKey()),
    etcdData: workspace.path('etcd'),
    auditPolicy: options.auditPolicy ?? join(import.meta.dirname, 'audit-policy.yaml'),
    auditLog: workspace.path('audit.log'),
    scratch: workspace.path('scratch'),
  };
  const site = { assets, workspace, connect: (url: string) => createRestClient(url, authority.cert, adminPair) };
  const run = async (component: components.Component, plan: components.Plan): Promise<RunningComponent> => {
    const started = await startComponent(component, plan, site);
    running.set(component, started);
    return started;
  };

  const etcd = await run('etcd', components.etcd(files));
  const etcdUrl = (await options.wayToEtcd?.(etcd.url)) ?? etcd.url;
  const apiServerArgs = [
    ...(options.routesToEndpoints ? ['--enable-aggregator-routing=true'] : []),
    ...(options.mutatingPolicies && capabilitiesOf(testedMinor())?.gated ? MUTATING_POLICIES : []),
    ...(options.apiServerArgs ?? []),
  ];
  const furtherApiServers: RunningComponent[] = [];
  const { url } = await run(
    'kube-apiserver',
    components.kubeApiserver(files, etcdUrl, [
      ...apiServerArgs,
      ...(options.webhookClient ? showCertificate(await authority.client(options.webhookClient), workspace) : []),
    ]),
  );
  const desk = createAccessDesk(url, authority, workspace);
  const { rest } = await desk.of(admin);
  await waitForNamespaces(rest);
  await createRoles(rest);

  const graceSeconds = options.nodeMonitorGraceSeconds ?? NODE_MONITOR_GRACE_SECONDS;
  const kubeconfig = async (name: string, groups: string[] = []) => (await desk.of({ name, groups })).kubeconfigFile;
  const plans: Record<components.OptionalComponent, () => Promise<components.Plan>> = {
    'kube-controller-manager': async () =>
      components.kubeControllerManager(files, await kubeconfig('system:kube-controller-manager'), graceSeconds),
    'kube-scheduler': async () => components.kubeScheduler(files, await kubeconfig('system:kube-scheduler')),
    kubelets: async () => components.kubelets(files, await kubeconfig('kubelets', ['system:masters']), graceSeconds),
  };
  const selected = options.components ?? [];
  const outcomes = await Promise.allSettled(
    selected.map(async (component) => run(component, await plans[component]())),
  );
  for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
  if (selected.includes('kube-controller-manager')) await waitForControllers(rest);

  const stop = async () => {
    desk.close();
    await Promise.all(furtherApiServers.map(({ process: part }) => part.kill()));
    await tearDown(workspace, running);
  };
  return {
    url,
    caFile: files.ca,
    version: await readVersion(rest),
    client: async (user, through) => (await desk.of(user, through)).kubeConfig,
    kubeconfigFile: async (user, through) => (await desk.of(user, through)).kubeconfigFile,
    kubectl: async (args, { user = admin, input } = {}) => {
      const { kubeconfigFile } = await desk.of(user);
      const home = workspace.path('home');
      const binary = binaryPath(assets, 'kubectl');
      return runKubectl(binary, kubeconfigFile, args, input === undefined ? { home } : { home, input });
    },
    request: async (user, method, path, payload) => (await desk.of(user)).rest.request(method, path, payload),
    furtherApiServer: async () => {
      const auditLog = workspace.path(`audit-${furtherApiServers.length}.log`);
      const plan = components.kubeApiserver({ ...files, auditLog }, etcdUrl, apiServerArgs);
      const started = await startComponent('kube-apiserver', plan, site);
      furtherApiServers.push(started);
      return started.url;
    },
    auditLog: () => readAuditLog(files.auditLog),
    auditFile: files.auditLog,
    auditEvent: ({ auditId }) => findAuditEvent(files.auditLog, auditId ?? 'without an Audit-Id header'),
    ...createFaults(running, () => site.connect(etcd.url), files.etcdData),
    logs: (component) => running.get(component)?.process.log() ?? '',
    dumpLogs: () => {
      for (const { process: part } of running.values()) {
        process.stderr.write(`--- ${part.name}\n${lastLines(part.log(), DUMPED_LINES)}\n`);
      }
    },
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

/** The arguments by which the API server shows a certificate to webhooks, as docs/client-certificates.md has it. */
function showCertificate({ cert, key }: KeyPair, workspace: Workspace): string[] {
  const user = {
    'client-certificate': workspace.write('webhook-client.crt', cert),
    'client-key': workspace.write('webhook-client.key', key),
  };
  const kubeConfigFile = workspace.write(
    'webhook-kubeconfig.json',
    JSON.stringify({ apiVersion: 'v1', kind: 'Config', users: [{ name: '*', user }] }),
  );
  const plugins = ['MutatingAdmissionWebhook', 'ValidatingAdmissionWebhook'].map((name) => ({
    name,
    configuration: { apiVersion: 'apiserver.config.k8s.io/v1', kind: 'WebhookAdmissionConfiguration', kubeConfigFile },
  }));
  const configuration = { apiVersion: 'apiserver.config.k8s.io/v1', kind: 'AdmissionConfiguration', plugins };
  const file = workspace.write('admission-configuration.json', JSON.stringify(configuration));
  return [`--admission-control-config-file=${file}`];
}

/** In the order of their start. */
type Running = Map<components.Component, RunningComponent>;

async function readVersion(rest: RestClient): Promise<ServerVersion> {
  const { body } = await rest.request<{ gitVersion: string; minor: string }>('GET', '/version');
  return { gitVersion: body.gitVersion, minor: Number.parseInt(body.minor, 10) };
}

async function tearDown(workspace: Workspace, running: Running): Promise<void> {
  // Nothing of it is kept: an orderly end of the API server would take a second.
  await Promise.all([...running.values()].map(({ process: part }) => part.kill()));
  workspace.remove();
}
