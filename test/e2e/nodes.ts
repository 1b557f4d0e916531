import type { ControlPlane } from '../control-plane/control-plane.ts';
import { admin, type User } from '../control-plane/users.ts';

export interface Taint {
  key: string;
  value?: string;
  effect: string;
}

export interface Node {
  metadata: {
    name: string;
    labels?: Record<string, string>;
    annotations?: Record<string, string>;
    resourceVersion?: string;
    uid?: string;
  };
  spec: { taints?: Taint[]; unschedulable?: boolean };
}

export const GPU: Taint = { key: 'dedicated', value: 'gpu', effect: 'NoSchedule' };
export const OTHER: Taint = { key: 'example.com/other', effect: 'NoSchedule' };
export const RELEASE = 'taintkeeper.dev/allow-removal';

/** How an attempt ended, whoever made it and by which means. */
export interface Attempt {
  readonly passed: boolean;
  /** The error, as the requester sees it. */
  readonly error: string;
  readonly warnings: readonly string[];
}

/** Where the API server has the node. */
export const path = (name: string) => `/api/v1/nodes/${name}`;

/** One raw request. */
export async function attempt(
  cp: ControlPlane,
  user: User,
  method: string,
  url: string,
  body: unknown,
  contentType?: string,
): Promise<Attempt> {
  const answer = await cp.request<{ message?: string }>(user, method, url, {
    body,
    ...(contentType ? { contentType } : {}),
  });
  return { passed: answer.status < 300, error: answer.body.message ?? '', warnings: answer.warnings };
}

/** One command, with the warnings that kubectl shows. */
export async function kubectl(cp: ControlPlane, user: User, args: string[], input?: string): Promise<Attempt> {
  const { code, stderr } = await cp.kubectl(args, { user, ...(input === undefined ? {} : { input }) });
  const warnings = [...stderr.matchAll(/^Warning: (.*)$/gm)].map(([, text = '']) => text);
  return { passed: code === 0, error: code === 0 ? '' : stderr, warnings };
}

/** The node, as an admin sees it. */
export async function getNode(cp: ControlPlane, name: string): Promise<Node> {
  return (await cp.request<Node>(admin, 'GET', path(name))).body;
}

/** All taints of a node, as kubectl writes them. */
export async function allTaintsOf(cp: ControlPlane, name: string): Promise<string[]> {
  const { spec } = await getNode(cp, name);
  return (spec.taints ?? []).map(({ key, value, effect }) => `${key}${value ? `=${value}` : ''}:${effect}`);
}

/** The taints of a node without Kubernetes' own: the API server makes every new node not-ready (TaintNodesByCondition). */
export async function taintsOf(cp: ControlPlane, name: string): Promise<string[]> {
  return (await allTaintsOf(cp, name)).filter((taint) => !taint.startsWith('node.kubernetes.io/'));
}
