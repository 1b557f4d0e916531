import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { join } from 'node:path';

/**
 * The rules of policies.yaml by hand, without a framework, a log, metrics or a page. The rest of its CPU time is TLS, HTTP and JSON, which
 * every webhook in Node.js needs. With `--log`, it writes a line to standard output for each denied or patched request, with what a line of
 * taintkeeper's log says.
 *
 *     node bench/peers/floor.ts PORT CERT_DIR [--log]
 */
const [port, certDir = '', option] = process.argv.slice(2);
const writesLog = option === '--log';
const pem = (file: string) => readFileSync(join(certDir, file));

interface Node {
  readonly metadata: { readonly labels?: Readonly<Record<string, string>> };
  readonly spec: { readonly taints?: readonly Readonly<Record<string, string>>[] };
}

interface DaemonSet {
  readonly spec: { readonly template: { readonly spec: { readonly tolerations?: readonly Toleration[] } } };
}

interface Toleration {
  readonly key?: string;
  readonly operator?: string;
  readonly effect?: string;
}

const REQUIRED: readonly Toleration[] = ['master', 'control-plane'].map((role) => ({
  ...{ key: `node-role.kubernetes.io/${role}`, operator: 'Exists', effect: 'NoSchedule' },
}));

const isWorker = ({ metadata }: Node) => metadata.labels?.['example.com/pool'] === 'workers';

const isProtected = ({ spec }: Node) =>
  (spec.taints ?? []).some(
    ({ key, value, effect }) => key === 'example.com/dedicated' && value === 'batch' && effect === 'NoSchedule',
  );

interface Judged {
  readonly allowed: boolean;
  readonly status?: object;
  readonly patchType?: string;
  readonly patch?: string;
}

interface Request {
  readonly uid: string;
  readonly operation: string;
  readonly kind: { readonly kind: string };
  readonly name: string;
  readonly namespace?: string;
  readonly userInfo: { readonly username: string };
}

function log({ uid, operation, kind, name, namespace, userInfo }: Request, origin: string, isDenied: boolean): void {
  const object = namespace ? `${namespace}/${name}` : name;
  const [policyKind, policy] = isDenied ? ['TaintPolicy', 'dedicated'] : ['TolerationPolicy', 'cni'];
  const subjects = isDenied
    ? ['example.com/dedicated=batch:NoSchedule']
    : REQUIRED.map(({ key, effect }) => `${key}:${effect}`);
  const line = {
    ...{ level: 'info', time: new Date().toISOString(), uid, operation, kind: kind.kind, name: object },
    ...{ user: userInfo.username, origin, policyKind, policy, fields: ['spec'], mode: isDenied ? 'Deny' : 'Mutate' },
    ...{ change: isDenied ? 'Removal' : 'Missing', result: isDenied ? 'Denied' : 'Added', audit: false, subjects },
    msg: `${subjects.join(', ')} on ${kind.kind} ${object}: ${policyKind} ${policy}, user ${userInfo.username}`,
  };
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

function validate(node: Node, oldNode: Node): Judged {
  const removesTaint = (isWorker(node) || isWorker(oldNode)) && isProtected(oldNode) && !isProtected(node);
  if (!removesTaint) return { allowed: true };
  const message = 'taint example.com/dedicated=batch:NoSchedule is protected';
  return { allowed: false, status: { status: 'Failure', code: 403, reason: 'Forbidden', message } };
}

function mutate({ spec: { template } }: DaemonSet, namespace: string): Judged {
  const { tolerations } = template.spec;
  const missing = REQUIRED.filter(
    ({ key, effect }) =>
      !(tolerations ?? []).some(
        (own) => (!own.key ? own.operator === 'Exists' : own.key === key) && (!own.effect || own.effect === effect),
      ),
  );
  if (namespace !== 'kube-system' || missing.length === 0) return { allowed: true };
  const path = '/spec/template/spec/tolerations';
  const operations = tolerations
    ? missing.map((value) => ({ op: 'add', path: `${path}/-`, value }))
    : [{ op: 'add', path, value: missing }];
  return { allowed: true, patchType: 'JSONPatch', patch: Buffer.from(JSON.stringify(operations)).toString('base64') };
}

const server = createServer({ cert: pem('tls.crt'), key: pem('tls.key') }, (incoming, response) => {
  const chunks: Buffer[] = [];
  incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
  incoming.on('end', () => {
    const { apiVersion, kind, request } = JSON.parse(Buffer.concat(chunks).toString());
    const judged = incoming.url?.startsWith('/validate')
      ? validate(request.object, request.oldObject)
      : mutate(request.object, request.namespace);
    const isFinding = !judged.allowed || judged.patch !== undefined;
    if (writesLog && isFinding) log(request, incoming.socket.remoteAddress ?? '', !judged.allowed);
    const body = JSON.stringify({ apiVersion, kind, response: { uid: request.uid, ...judged } });
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) });
    response.end(body);
  });
});
server.keepAliveTimeout = 120_000;
server.listen(Number(port), '127.0.0.1');
