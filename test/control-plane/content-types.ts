// What a PATCH carries says how the API server takes it (docs of Kubernetes: reference/using-api/api-concepts, "Patch").

/** RFC 7386: lists are replaced, null takes away. */
export const MERGE_PATCH = 'application/merge-patch+json';
/** Kubernetes' own: some lists are merged by a key. */
export const STRATEGIC_MERGE_PATCH = 'application/strategic-merge-patch+json';
/** RFC 6902: a list of operations. */
export const JSON_PATCH = 'application/json-patch+json';
/** Server-side apply; JSON is YAML, too. */
export const APPLY_PATCH = 'application/apply-patch+yaml';
