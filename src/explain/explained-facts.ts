import type { PolicyObject } from '../cluster/policies/policy-object.ts';

/** An Event of taintkeeper. */
export interface ToldEvent {
  /** RFC 3339, when it was last seen. */
  readonly time: string;
  readonly reason: string;
  readonly note: string;
}

/** The facts besides the explained object. The command and a replica read them differently. */
export interface Facts {
  readonly policies: readonly PolicyObject[];
  /** Whether taintkeeper runs with --audit. */
  readonly audit: boolean;
  readonly events: readonly ToldEvent[];
  /** What could not be read. */
  readonly notes: readonly string[];
}
