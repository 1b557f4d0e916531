import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { parseAst } from 'rolldown/parseAst';

const SOURCE = join(import.meta.dirname, '..', 'src');

/**
 * The rooms of `src`, from the ground floor up: a room imports from itself and from floors below its own. Rooms of one floor know
 * nothing of each other.
 */
export const FLOORS: readonly Readonly<Record<string, string>>[] = [
  {
    collections: 'groups, bounded lists and maps, and results that are computed once',
    runtime: 'back-off, queues, reconcilers, clocks, signals, faults: nothing of Kubernetes',
    text: 'texts for people: counts, lists, escaped characters, lengths',
    version: 'the version of the program',
  },
  { kubernetes: 'what Kubernetes itself means: taints, tolerations, selectors, affinity' },
  {
    cel: 'CEL as data: expressions with their cost',
    scheduling: 'on which nodes Kubernetes runs pods, what keeps them off, and when a rollout is done',
  },
  { policy: 'what a user declares: schemas, their checks, and the compiled policies' },
  { 'policy/reporting': 'what taintkeeper says of a policy: status, conditions, Events, commands, and harm' },
  { judge: 'what requests and the leader judge by: views, declared taints, drift, decisions' },
  {
    'judge/request': 'what the policies decide about a request',
    'judge/startup': 'which startup taints a node waits with, and why',
  },
  {
    'judge/node': 'what a Node needs now, and what the leader keeps of it',
    'judge/policy': 'what is said of a policy: findings, warnings, contradictions',
  },
  {
    'cel-rules': 'the rules of judge as CEL expressions: match conditions, and parts of native policies',
    coverage: 'which nodes lack daemon pods, why, and what closes these gaps',
    'node-pools': 'compares node pools with the taints of policies',
    recovery: 'which stuck daemon pods are deleted',
  },
  {
    'coverage/findings': 'what `taintkeeper coverage` reports besides gaps: priority, wide tolerations, virtual nodes',
    webhooks: 'which webhooks the policies need',
    native: 'policies as Validating- and MutatingAdmissionPolicies',
    objects: 'Nodes, DaemonSets and workloads as JSON: read and patched',
    'role-migration': 'plans the migration from `master` to `control-plane`',
  },
  { admission: 'AdmissionReview in, AdmissionReview out' },
  { server: 'HTTPS, probes, metrics of admission', files: 'YAML and JSON files, with positions' },
  { certs: 'certificates: issue, inspect, renew; in files', talos: 'machine configurations of Talos' },
  {
    cluster: 'the API server: client, watches, Lease, Events, Secret',
    'talos/lint': 'the rules of `taintkeeper talos lint`, and the reader of node declarations, which runs two of them',
  },
  {
    controllers: 'what the leader runs beside requests, most controllers in a folder of their own',
    cleanup: 'what an installation leaves on Nodes and DaemonSets: found and removed',
  },
  { explain: 'why a node, a DaemonSet or a pod is as it is: in words' },
  {
    page: 'the page in a browser',
    'replica/apply-warnings': 'warnings for users who apply or delete a policy',
    leader: 'starts what only the leader runs',
    'doctor/facts': 'what the checks of `taintkeeper doctor` read, in the cluster and from replicas',
  },
  {
    replica: 'one replica, put together: with files, or in a cluster',
    doctor: 'the checks of `taintkeeper doctor`',
  },
  { 'doctor/talos': 'the checks of `taintkeeper talos doctor`, and how they call nodes' },
  { cli: 'the command line: a file or a folder for each command. Its rules are in folders below' },
];

/** Rooms without any I/O, clock or chance. */
export const PURE_ROOMS = [
  'collections',
  'text',
  'kubernetes',
  'cel',
  'scheduling',
  'policy',
  'policy/reporting',
  'judge',
  'judge/request',
  'judge/startup',
  'judge/node',
  'judge/policy',
  'cel-rules',
  'coverage',
  'coverage/findings',
  'node-pools',
  'recovery',
  'webhooks',
  'native',
  'role-migration',
];

export interface SourceFile {
  /** Below `src`, such as `judge/node-view.ts`. */
  readonly path: string;
  readonly text: string;
  /** Files below `src` that it imports from, for types alone included. */
  readonly imports: readonly string[];
  /** Packages and modules of Node.js that it imports from. */
  readonly packages: readonly string[];
}

/** All TypeScript files of `src`. */
export function sourceFiles(): SourceFile[] {
  return readdirSync(SOURCE, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts'))
    .sort()
    .map((path) => {
      const text = readFileSync(join(SOURCE, path), 'utf8');
      const modules = [...importedBy(parseAst(text, { lang: 'ts' }))];
      const isOwn = (module: string) => module.startsWith('.');
      return {
        path,
        text,
        imports: modules.filter(isOwn).map((module) => normalize(join(dirname(path), module))),
        packages: modules.filter((module) => !isOwn(module)),
      };
    });
}

/** Every `from '…'` and `import('…')`, that of types included. */
function importedBy(node: unknown, found = new Set<string>()): Set<string> {
  if (Array.isArray(node)) for (const item of node) importedBy(item, found);
  else if (typeof node === 'object' && node !== null) {
    if ('source' in node && isText(node.source)) found.add(node.source.value);
    for (const item of Object.values(node)) importedBy(item, found);
  }
  return found;
}

function isText(node: unknown): node is { readonly value: string } {
  return typeof node === 'object' && node !== null && 'value' in node && typeof node.value === 'string';
}

/** The room of a file: the first two folders below `src` if the table has them, else the first one, or its own name. */
export function roomOf(path: string): string {
  const folders = path.split('/').slice(0, -1);
  const room = folders.slice(0, 2).join('/');
  return floorOf(room) >= 0 ? room : (folders[0] ?? path.replace(/\.ts$/, ''));
}

/** The floor of a room, 0 for the ground; -1 for a room that the table does not have. */
export function floorOf(room: string): number {
  return FLOORS.findIndex((rooms) => Object.hasOwn(rooms, room));
}
