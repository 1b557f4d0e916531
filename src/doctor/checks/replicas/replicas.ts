import { formatLabels } from '../../../kubernetes/label-selector.ts';
import { shellWord } from '../../../text/printable.ts';
import { consequence, type Finding, finding } from '../../check.ts';
import type { Facts } from '../../facts/facts.ts';
import { isExternal } from '../../facts/installation-facts.ts';
import { missingPods } from './missing-pods.ts';
import { allOnOneNode } from './one-node.ts';
import { unreadyPods } from './unready-pods.ts';

/** Checks that pods are ready. If one is ready, the others are a note. */
export function checkReplicas(
  facts: Pick<Facts, 'pods' | 'service' | 'installation' | 'replicas' | 'rejectedPods' | 'search' | 'nodes'>,
): Finding {
  const { pods, service, installation } = facts;
  const { namespace } = installation;
  if (!pods.ok) return finding('skipped', pods.why);
  if (service.ok && isExternal(service.value)) {
    return finding('skipped', 'the Service points outside the cluster: its pods are not known');
  }
  if (service.ok && service.value === undefined) return finding('skipped', 'see Service');
  const labels = formatLabels((service.ok && service.value?.spec?.selector) || {});
  if (pods.value.length === 0) {
    const evidence = `no pod in namespace ${namespace} has the labels of the Service (${labels || 'it selects nothing'})`;
    return consequence(missingPods(evidence, facts), (cause) => `${evidence}: see ${cause}`, ['Service']);
  }
  const [first, ...others] = pods.value
    .filter(({ isReady }) => !isReady)
    .toSorted((a, b) => Number(b.cannotStart !== undefined) - Number(a.cannotStart !== undefined));
  const ready = pods.value.filter(({ isReady }) => isReady).length;
  const summary = `${ready} of ${pods.value.length} pods are ready`;
  const rejected = rejections(facts.rejectedPods);
  if (first) {
    const state = ready === 0 ? 'problem' : 'note';
    return unreadyPods([first, ...others], { state, summary, rejected }, facts);
  }
  if (rejected) {
    const clearing = `kubectl delete pods --namespace ${namespace} --field-selector=status.phase=Failed --selector=${shellWord(labels)}`;
    return finding('note', `${summary}; ${rejected}`, clearing);
  }
  return allOnOneNode(summary, facts) ?? finding('ok', summary);
}

function rejections(counts: ReadonlyMap<string, number>): string {
  const total = [...counts.values()].reduce((sum, count) => sum + count, 0);
  if (total === 0) return '';
  return `${total} ${total === 1 ? 'other was' : 'others were'} rejected by their node (${[...counts.keys()].join(', ')})`;
}
