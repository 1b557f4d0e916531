import { RELEASE_ANNOTATION } from '../kubernetes/helm.ts';
import { ownValue } from '../kubernetes/label-selector.ts';
import { shellWord } from '../text/printable.ts';
import { installationPath } from './calico-installation.ts';
import { allTolerations, type Need, type Remedies } from './remedies.ts';
import { setAt } from './set-at.ts';
import type { InstalledDaemonSet } from './workload.ts';

/** Values for one release of a Helm chart. */
export interface ReleaseValues {
  readonly chart: string;
  /** Undefined if the DaemonSets do not name it: Helm has not installed them, or not yet. */
  readonly release: string | undefined;
  readonly namespace: string;
  readonly values: object;
}

/** The place of a DaemonSet's tolerations in the values of a chart. The list there replaces the chart's own. */
interface ChartField {
  readonly chart: string;
  readonly daemonSet: string;
  /** A label of this DaemonSet in every version of the chart. */
  readonly label: readonly [key: string, value: string];
  readonly path: readonly string[];
}

/**
 * From the templates of the charts: install/kubernetes/cilium of cilium/cilium, chart/kube-flannel of flannel-io/flannel. The
 * DaemonSets of Calico's chart come from an operator, see `installationPath`.
 */
const CHART_FIELDS: readonly ChartField[] = [
  { chart: 'cilium', daemonSet: 'cilium', label: ['k8s-app', 'cilium'], path: ['tolerations'] },
  { chart: 'cilium', daemonSet: 'cilium-envoy', label: ['k8s-app', 'cilium-envoy'], path: ['envoy', 'tolerations'] },
  {
    chart: 'cilium',
    daemonSet: 'cilium-node-init',
    label: ['app', 'cilium-node-init'],
    path: ['nodeinit', 'tolerations'],
  },
  { chart: 'flannel', daemonSet: 'kube-flannel-ds', label: ['app', 'flannel'], path: ['flannel', 'tolerations'] },
];

/** https://helm.sh/docs/chart_best_practices/labels/ */
const CHART_LABEL = 'helm.sh/chart';

/** Values for the charts that are known, one object for each release. */
export function helmValues(needs: readonly Need[]): Remedies<ReleaseValues> {
  const found = needs.map((need) => ({ need, at: placeInValues(need.daemonSet) }));
  const placed = found.flatMap(({ need, at }) => (at.ok ? [{ need, ...at }] : []));
  const releases = Map.groupBy(placed, ({ chart, release, namespace }) => JSON.stringify([chart, release, namespace]));
  return {
    remedies: [...releases.values()].flatMap((same) => {
      const [first] = same;
      const values = {};
      for (const { need, path } of same) setAt(values, path, allTolerations(need));
      return first ? [{ chart: first.chart, release: first.release, namespace: first.namespace, values }] : [];
    }),
    left: found.flatMap(({ need: { daemonSet }, at }) => (at.ok ? [] : [{ daemonSet, why: at.fault }])),
  };
}

/** The place of a DaemonSet's tolerations in the values of its release, or why it is not known. */
type PlaceInValues =
  | ({ readonly ok: true } & Omit<ReleaseValues, 'values'> & Pick<ChartField, 'path'>)
  | { readonly ok: false; readonly fault: string };

function placeInValues(daemonSet: InstalledDaemonSet): PlaceInValues {
  const { name, namespace, labels, annotations, controller } = daemonSet;
  const release = ownValue(annotations, RELEASE_ANNOTATION);
  const inInstallation = installationPath(daemonSet);
  if (inInstallation) {
    // The operator's release is in a namespace of its own.
    const path = ['installation', ...inInstallation];
    return { ok: true, chart: 'tigera-operator', release: undefined, namespace: 'tigera-operator', path };
  }
  if (controller) {
    return { ok: false, fault: `it belongs to ${controller.kind} ${controller.name}: change its tolerations there` };
  }
  const inChart = CHART_FIELDS.find(
    (field) => field.daemonSet === name && ownValue(labels, field.label[0]) === field.label[1],
  );
  if (inChart) return { ok: true, chart: inChart.chart, release, namespace, path: inChart.path };
  const chart = /^(.+)-v?\d+\.\d/.exec(ownValue(labels, CHART_LABEL) ?? '')?.[1];
  if (chart === undefined && release === undefined) {
    return { ok: false, fault: 'nothing about it says that it comes from a Helm chart' };
  }
  const place =
    release === undefined
      ? 'helm show values'
      : `helm get values --all -n ${shellWord(namespace)} ${shellWord(release)}`;
  const values = chart === undefined ? 'its chart' : `chart ${chart}`;
  return { ok: false, fault: `taintkeeper does not know the values of ${values}: look for tolerations in ${place}` };
}
