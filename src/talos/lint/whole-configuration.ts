import { valueAt } from '../../kubernetes/json.ts';
import { booleanAt, kindOf } from '../document-values.ts';
import { MULTI_DOCUMENT_VERSION, surelyBefore } from '../versions.ts';
import type { Rule, RuleFinding } from './finding.ts';

export const INCOMPLETE: Rule = {
  id: 'incomplete',
  severity: 'refused',
  about:
    'A whole configuration, with the secrets of a machine, without the section `cluster` or the endpoint in it (up to Talos 1.13, in `cluster.controlPlane`): Talos refuses it.',
  check({ configuration: { documents, isWhole }, version }) {
    if (!isWhole) return [];
    const sections = documents.filter((document) => kindOf(document) === undefined);
    const withCluster = sections.find(({ value }) => valueAt(value, ['cluster']) != null);
    const [document] = sections;
    if (!document) return [];
    if (!withCluster) {
      return [{ document, path: ['cluster'], reason: `there is no cluster: ${REFUSED}`, fix: `add ${ENDPOINT}` }];
    }
    const path = ['cluster', 'controlPlane'];
    const controlPlane = valueAt(withCluster.value, path);
    if (valueAt(controlPlane, ['endpoint']) != null) return [];
    // Since then the endpoint is in a KubeClusterConfig, and the section refused only where it is there without one.
    const isNeeded = controlPlane != null || surelyBefore(version, MULTI_DOCUMENT_VERSION);
    return isNeeded
      ? [
          {
            document: withCluster,
            path,
            reason: `there is no endpoint of the cluster: ${REFUSED}`,
            fix: `add ${ENDPOINT}`,
          },
        ]
      : [];
  },
};

const REFUSED = 'Talos refuses a whole configuration without';
const ENDPOINT = 'cluster.controlPlane.endpoint: https://HOST:6443';

export const PATCH_DIRECTIVE: Rule = {
  id: 'patch-directive',
  severity: 'refused',
  about: '`$patch` in a whole configuration: Talos reads it in patches only, and refuses the configuration.',
  check: ({ configuration: { directives } }) =>
    directives.map(({ document, path }) => ({
      document,
      path,
      reason: 'Talos reads $patch in patches only, and refuses a whole configuration with it',
      fix: 'move it to a patch, or remove the section',
    })),
};

/** It is refused since this version (Config.Validate of Talos' v1alpha1_validation.go). */
const PERSIST_SINCE = 6;

export const PERSIST: Rule = {
  id: 'persist',
  severity: 'refused',
  about: '`persist: false`, which Talos refuses since 1.6.',
  check: ({ configuration: { documents }, version }) =>
    documents.flatMap((document): RuleFinding[] => {
      if (surelyBefore(version, PERSIST_SINCE) || kindOf(document) !== undefined) return [];
      if (booleanAt(document, ['persist']) !== false) return [];
      const reason = `Talos refuses persist: false since 1.${PERSIST_SINCE}: a configuration is always stored`;
      return [{ document, path: ['persist'], reason, fix: 'remove it, or write persist: true' }];
    }),
};
