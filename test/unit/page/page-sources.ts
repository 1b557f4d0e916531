import type { PageSources } from '../../../src/page/page-sources.ts';

/** Sources of a replica where all is well. */
export function pageSources(more: Partial<PageSources> = {}): PageSources {
  return {
    replica: 'tk-1',
    mode: 'cluster',
    audit: false,
    now: () => new Date(),
    leader: () => ({ isThis: true, name: 'tk-1' }),
    checks: () => [{ name: 'policies', state: 'ok', detail: '1 in force' }],
    certificate: () => undefined,
    webhooks: () => [],
    policies: () => [],
    cluster: () => undefined,
    ...more,
  };
}
