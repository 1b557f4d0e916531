import { type Policy, type PolicyKind, parsePolicy } from '../../src/policy/policy.ts';
import { formatPath } from '../../src/policy/problem.ts';

/** A policy as the API server holds it. */
export interface PolicyObject {
  apiVersion: string;
  kind: PolicyKind;
  metadata: { name: string; generation?: number; resourceVersion?: string };
  spec: unknown;
  status?: object;
}

export function policyObject(kind: PolicyKind, name: string, spec: unknown): PolicyObject {
  return { apiVersion: 'taintkeeper.dev/v1alpha1', kind, metadata: { name }, spec };
}

/** `field: message` of everything that the program finds wrong. */
export function problemsOf(object: unknown): string[] {
  const result = parsePolicy(object);
  return result.ok ? [] : result.problems.map(({ path, message }) => `${formatPath(path)}: ${message}`);
}

/** @throws Error for an object that is no valid policy */
export function readPolicy(object: unknown): Policy {
  const result = parsePolicy(object);
  if (!result.ok) throw new Error(JSON.stringify({ object, problems: result.problems }));
  return result.policy;
}
