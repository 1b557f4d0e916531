import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { issueCa, issueServing, type KeyPair } from '../../src/certs/issue.ts';
import { MERGE_PATCH } from '../control-plane/content-types.ts';
import type { ControlPlane } from '../control-plane/control-plane.ts';
import { NAMESPACE, type Replica, SERVICE } from '../control-plane/replicas.ts';
import { succeeded } from '../control-plane/rest.ts';
import { startTcpProxy, type TcpProxy } from '../control-plane/tcp-proxy.ts';
import { admin } from '../control-plane/users.ts';
import { waitUntil } from '../control-plane/wait-until.ts';
import { createWorkspace } from '../control-plane/workspace.ts';
import { base64 } from './certificate-data.ts';
import { shakeHands } from './handshake.ts';
import {
  CERTIFICATES,
  type Installation,
  type InstallationOptions,
  install,
  LEASE,
  readConfigurations,
} from './installation.ts';
import { deploymentOf, objectsOf } from './kubernetes-objects.ts';

const MANIFEST = new URL('../../manifests/install.yaml', import.meta.url);
const DAY_MS = 86_400_000;
const CORE = `/api/v1/namespaces/${NAMESPACE}`;
const SLICES = `/apis/discovery.k8s.io/v1/namespaces/${NAMESPACE}/endpointslices`;
const RENEW_MS = 1_000;

/** No identity of theirs, though of the same form. */
const HOLDER = 'taintkeeper-b_6e1d4f0a-3c58-4b7e-9a21-0c5d8f6b2e94';

export const REPLICAS = ['taintkeeper-a', 'taintkeeper-b'];

/** Where the API server may call a pod: not at a loopback address. Undefined on a machine that has no other. */
export const POD_ADDRESS = Object.values(networkInterfaces())
  .flatMap((addresses) => addresses ?? [])
  .find(({ family, internal }) => family === 'IPv4' && !internal)?.address;

/** Why there are no pods that the API server can call, if so. */
const obstacleToPods = POD_ADDRESS ? undefined : 'this machine has no address but loopback';

/** A control plane whose API server calls pods, where this machine can have them. */
export const ON_PODS = { routesToEndpoints: true, obstacle: obstacleToPods };

export interface Pair {
  readonly ca: KeyPair;
  readonly serving: KeyPair;
}

/** A serving certificate of that age in days, and its CA. */
export async function issue({
  days = 0,
  name = `${SERVICE}.${NAMESPACE}.svc`,
  ca = undefined as KeyPair | undefined,
} = {}): Promise<Pair> {
  const issued = new Date(Date.now() - days * DAY_MS);
  const issuer = ca ?? (await issueCa(issued));
  return { ca: issuer, serving: await issueServing(issuer, [name], issued) };
}

/** A replica as the cluster has it: a pod, and an endpoint of the Service. */
interface Member {
  readonly replica: Replica;
  /** What stands between it and everybody else. */
  readonly proxy: TcpProxy;
  readonly directory: string;
}

/** An installation whose Service leads to pods by EndpointSlices, with certificates that somebody else issues. */
export interface DoctorRig {
  readonly members: ReadonlyMap<string, Member>;
  /** Starts a replica, with the certificates of `pair`, and makes its pod and its endpoint. */
  add(name: string, pair: Pair, env?: Record<string, string>): Promise<void>;
  /** Ends a replica, and takes away what the cluster had of it. */
  remove(name: string): Promise<void>;
  /** Puts certificates where these replicas, or all of them, serve them from, and waits until they do; and into the Secret. */
  serve(pair: Pair, names?: readonly string[]): Promise<void>;
  /** Starts every replica anew with certificates that one that runs does not put in place of valid ones; and puts them into the Secret. */
  restart(pair: Pair): Promise<void>;
  /** Tells the cluster which replicas are ready: the work of kubelets and of the endpoints controller. */
  reflect(): Promise<void>;
  /** Puts an endpoint of that port in place of a replica's own; none without a port. */
  lead(name: string, port: number | undefined): Promise<void>;
  /** The port at which a replica is called. */
  port(name: string): number;
  /** Holds the Lease, and renews it: none of the replicas leads, and nothing that is broken gets repaired. */
  holdLease(): Promise<void>;
  patch(path: string, body: object): Promise<void>;
  stop(): Promise<void>;
}

export async function startDoctorRig(cp: ControlPlane, pair: Pair, options?: InstallationOptions): Promise<DoctorRig> {
  const installation = await install(cp, [], options);
  const workspace = createWorkspace('doctor');
  const members = new Map<string, Member>();
  let renewing: NodeJS.Timeout | undefined;
  /** Of a renewal of the Lease: from then on, a replica could lead. */
  let renewalError: unknown;
  await request('POST', `${CORE}/secrets`, {
    metadata: { name: 'taintkeeper-certs' },
    type: 'kubernetes.io/tls',
    data: secretData(pair),
  });

  const rig: DoctorRig = {
    members,
    async add(name, itsPair, env) {
      const directory = workspace.path(name);
      mkdirSync(directory, { recursive: true });
      write(directory, itsPair);
      const args = ['--cert-dir', directory, '--admin-host', '0.0.0.0', '--shutdown-delay', '0'];
      const [replica] = await installation.start([name], { args, ...(env ? { env } : {}) });
      if (!replica) throw new Error(`no replica ${name}`);
      members.set(name, { replica, directory, proxy: await startTcpProxy(replica.url, '0.0.0.0') });
      await makePod(name, replica);
      await request('POST', SLICES, slice(name, rig.port(name)));
    },
    async remove(name) {
      const { replica, proxy } = member(name);
      members.delete(name);
      installation.proxy.remove(name);
      installation.replicas.delete(name);
      await request('DELETE', `${SLICES}/of-${name}`);
      await request('DELETE', `${CORE}/pods/${name}?gracePeriodSeconds=0`);
      await replica.kill();
      await proxy.stop();
    },
    async serve(next, names = [...members.keys()]) {
      for (const name of names) write(member(name).directory, next);
      await rig.patch(CERTIFICATES, { data: secretData(next) });
      const expected = next.serving.cert.trim();
      for (const name of names) {
        await waitUntil(
          async () => {
            const shown = await shakeHands(member(name).replica.port, next.ca.cert);
            return 'certificate' in shown && shown.certificate?.toString().trim() === expected ? true : undefined;
          },
          { timeoutMs: 20_000, otherwise: () => `${name} does not serve the new certificate` },
        );
      }
    },
    async restart(next) {
      await rig.patch(CERTIFICATES, { data: secretData(next) });
      for (const name of [...members.keys()]) {
        await rig.remove(name);
        await rig.add(name, next);
      }
    },
    async reflect() {
      for (const [name, { replica }] of members) {
        const isReady = (await replica.readyz()).status === 200;
        await rig.patch(`${CORE}/pods/${name}/status`, {
          status: { conditions: [{ type: 'Ready', status: isReady ? 'True' : 'False' }] },
        });
        await request('PUT', `${SLICES}/of-${name}`, slice(name, rig.port(name), isReady));
      }
    },
    async lead(name, port) {
      await request('PUT', `${SLICES}/of-${name}`, slice(name, port ?? rig.port(name), true, port === undefined));
    },
    port: (name) => member(name).proxy.port,
    async holdLease() {
      const renew = () =>
        rig.patch(LEASE, {
          spec: {
            holderIdentity: HOLDER,
            leaseDurationSeconds: 15,
            renewTime: new Date().toISOString().replace('Z', '000Z'),
          },
        });
      await renew();
      renewing = setInterval(() => void renew().catch((error) => (renewalError ??= error)), RENEW_MS);
    },
    async patch(path, body) {
      await request('PATCH', path, body, MERGE_PATCH);
    },
    async stop() {
      clearInterval(renewing);
      await installation.stop();
      await Promise.all([...members.values()].map(({ proxy }) => proxy.stop()));
      workspace.remove();
      if (renewalError) throw renewalError;
    },
  };

  await Promise.all(REPLICAS.map((name) => rig.add(name, pair)));
  await waitForRegistration(cp);
  // Their endpoints are ready already: until they are, the API server calls what a kubelet would still hold back.
  for (const name of REPLICAS) {
    await waitUntil(async () => ((await member(name).replica.readyz()).status === 200 ? true : undefined), {
      timeoutMs: 30_000,
      otherwise: () => `${name} is not ready`,
    });
  }
  await leadToEndpoints(cp, installation);
  return rig;

  function member(name: string): Member {
    const found = members.get(name);
    if (!found) throw new Error(`no replica ${name}`);
    return found;
  }

  async function request(method: string, path: string, body?: object, contentType?: string): Promise<void> {
    await succeeded(cp.request(admin, method, path, { body, ...(contentType ? { contentType } : {}) }));
  }

  /** What the Deployment would make, with the ports of the process, and the certificates from a Secret that is mounted. */
  async function makePod(name: string, replica: Replica): Promise<void> {
    const { deployment, container } = deploymentOf(objectsOf(readFileSync(MANIFEST, 'utf8')));
    const { metadata, spec } = deployment.spec.template;
    const ports = [
      { name: 'webhook', containerPort: rig.port(name) },
      { name: 'admin', containerPort: Number(new URL(replica.adminUrl).port) },
    ];
    const ours = {
      ...container,
      ports,
      args: ['serve', '--cluster', '--cert-dir=/certs'],
      volumeMounts: [{ name: 'certs', mountPath: '/certs' }],
      startupProbe: undefined,
      livenessProbe: undefined,
      readinessProbe: undefined,
    };
    const volumes = [{ name: 'certs', secret: { secretName: 'taintkeeper-certs' } }];
    await request('POST', `${CORE}/pods`, {
      metadata: { ...metadata, name },
      spec: { ...spec, automountServiceAccountToken: false, containers: [ours], volumes },
    });
    const status = {
      phase: 'Running',
      podIP: POD_ADDRESS,
      podIPs: [{ ip: POD_ADDRESS }],
      conditions: [{ type: 'Ready', status: 'True' }],
    };
    await rig.patch(`${CORE}/pods/${name}/status`, { status });
  }
}

function write(directory: string, { ca, serving }: Pair): void {
  writeFileSync(join(directory, 'tls.key'), serving.key);
  writeFileSync(join(directory, 'tls.crt'), serving.cert);
  writeFileSync(join(directory, 'ca.crt'), ca.cert);
}

function secretData({ ca, serving }: Pair): Record<string, string> {
  return { 'ca.crt': base64(ca.cert), 'tls.crt': base64(serving.cert), 'tls.key': base64(serving.key) };
}

function slice(name: string, port: number, ready = true, empty = false): object {
  const endpoint = {
    addresses: [POD_ADDRESS],
    conditions: { ready },
    targetRef: { kind: 'Pod', namespace: NAMESPACE, name },
  };
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name: `of-${name}`, labels: { 'kubernetes.io/service-name': SERVICE } },
    addressType: 'IPv4',
    ports: [{ name: 'webhook', protocol: 'TCP', port }],
    endpoints: empty ? [] : [endpoint],
  };
}

async function waitForRegistration(cp: ControlPlane): Promise<void> {
  await waitUntil(
    async () => ((await readConfigurations(cp)).every(({ webhooks = [] }) => webhooks.length > 0) ? true : undefined),
    { timeoutMs: 30_000, otherwise: () => 'the webhooks are not registered' },
  );
}

/** The leader has called itself over the Service by now, which is not to be done here with a cluster IP. */
async function leadToEndpoints(cp: ControlPlane, { proxy }: Installation): Promise<void> {
  const spec = {
    type: 'ClusterIP',
    externalName: null,
    ports: [{ name: 'webhook', port: proxy.port, targetPort: 'webhook', protocol: 'TCP' }],
  };
  await succeeded(
    cp.request(admin, 'PATCH', `${CORE}/services/${SERVICE}`, { body: { spec }, contentType: MERGE_PATCH }),
  );
}
