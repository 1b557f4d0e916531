import type { Operation } from '../kubernetes/json-patch.ts';
import { own } from '../kubernetes/label-selector.ts';
import { shellWord } from '../kubernetes/text.ts';
import type { Toleration } from '../kubernetes/toleration.ts';
import type { MissingTolerations } from './missing-tolerations.ts';
import { type InstalledDaemonSet, managerOf, RELEASE_ANNOTATION } from './workload.ts';

type Need = MissingTolerations<InstalledDaemonSet>;

/** A remedy of one kind, and the DaemonSets without a remedy of that kind. */
export interface Remedies<Remedy> {
  readonly remedies: readonly Remedy[];
  readonly left: readonly { readonly daemonSet: InstalledDaemonSet; readonly why: string }[];
}

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
 * From the templates of the charts: install/kubernetes/cilium of cilium/cilium, chart/kube-flannel of flannel-io/flannel. The chart
 * of Calico is below: its DaemonSets come from an operator.
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

/**
 * The field of an Installation (operator.tigera.io/v1) for each of the operator's DaemonSets. Its value replaces the operator's own tolerations. The
 * values of the chart tigera-operator below `installation` are the spec of the Installation.
 */
const INSTALLATION_FIELDS: Readonly<Record<string, string>> = {
  'calico-node': 'calicoNodeDaemonSet',
  'calico-node-windows': 'calicoNodeWindowsDaemonSet',
  'csi-node-driver': 'csiNodeDriverDaemonSet',
};

function installationPath({ name, controller }: InstalledDaemonSet): readonly string[] | undefined {
  const field = controller?.kind === 'Installation' ? own(INSTALLATION_FIELDS, name) : undefined;
  return field === undefined ? undefined : [field, 'spec', 'template', 'spec', 'tolerations'];
}

/** https://helm.sh/docs/chart_best_practices/labels/ */
const CHART_LABEL = 'helm.sh/chart';

/** Values for the charts that are known, one object for each release. */
export function helmValues(needs: readonly Need[]): Remedies<ReleaseValues> {
  const found = needs.map((need) => ({ need, at: placeInValues(need.daemonSet) }));
  const placed = found.flatMap(({ need, at }) => (typeof at === 'string' ? [] : [{ need, ...at }]));
  const releases = Map.groupBy(placed, ({ chart, release, namespace }) => JSON.stringify([chart, release, namespace]));
  return {
    remedies: [...releases.values()].flatMap((same) => {
      const [first] = same;
      const values = {};
      for (const { need, path } of same) put(values, path, allOf(need));
      return first ? [{ chart: first.chart, release: first.release, namespace: first.namespace, values }] : [];
    }),
    left: found.flatMap(({ need: { daemonSet }, at }) => (typeof at === 'string' ? [{ daemonSet, why: at }] : [])),
  };
}

/** @returns the reason as text if the place is not known */
function placeInValues(
  daemonSet: InstalledDaemonSet,
): (Omit<ReleaseValues, 'values'> & Pick<ChartField, 'path'>) | string {
  const { name, namespace, labels, annotations, controller } = daemonSet;
  const release = own(annotations, RELEASE_ANNOTATION);
  const inInstallation = installationPath(daemonSet);
  if (inInstallation) {
    // The operator's release is in a namespace of its own.
    const path = ['installation', ...inInstallation];
    return { chart: 'tigera-operator', release: undefined, namespace: 'tigera-operator', path };
  }
  if (controller) return `it belongs to ${controller.kind} ${controller.name}: change its tolerations there`;
  const known = CHART_FIELDS.find(
    (field) => field.daemonSet === name && own(labels, field.label[0]) === field.label[1],
  );
  if (known) return { chart: known.chart, release, namespace, path: known.path };
  const chart = /^(.+)-v?\d+\.\d/.exec(own(labels, CHART_LABEL) ?? '')?.[1];
  if (chart === undefined && release === undefined) return 'nothing about it says that it comes from a Helm chart';
  const place =
    release === undefined
      ? 'helm show values'
      : `helm get values --all -n ${shellWord(namespace)} ${shellWord(release)}`;
  return `taintkeeper does not know the values of ${chart === undefined ? 'its chart' : `chart ${chart}`}: look for tolerations in ${place}`;
}

function put(values: Record<string, unknown>, [key = '', ...rest]: readonly string[], value: unknown): void {
  if (rest.length === 0) values[key] = value;
  else {
    values[key] ??= {};
    put(values[key] as Record<string, unknown>, rest, value);
  }
}

/** The DaemonSet's own tolerations and the needed ones, because the list replaces another one. */
function allOf({ daemonSet, tolerations }: Need): Toleration[] {
  const written = daemonSet.tolerations.map(
    (toleration): Toleration => Object.fromEntries(Object.entries(toleration).filter(([, value]) => value !== null)),
  );
  return [...written, ...tolerations];
}

/** A kubectl command for each DaemonSet. */
export interface PatchCommand {
  readonly daemonSet: InstalledDaemonSet;
  readonly command: string;
  /** The writer whose next change reverts this one; undefined if none is known. */
  readonly revertedBy: string | undefined;
}

const TOLERATIONS = '/spec/template/spec/tolerations';

/** Commands for running DaemonSets. For an operator's DaemonSet, they change the object that the operator reads. */
export function patchCommands(needs: readonly Need[]): Remedies<PatchCommand> {
  const found = needs.map((need) => ({ need, command: commandFor(need) }));
  return {
    remedies: found.flatMap(({ need: { daemonSet }, command }) =>
      command === undefined
        ? []
        : [{ daemonSet, command, revertedBy: installationPath(daemonSet) ? undefined : managerOf(daemonSet) }],
    ),
    left: found.flatMap(({ need: { daemonSet }, command }) =>
      command === undefined ? ownedBy(daemonSet, 'its controller would revert a patch') : [],
    ),
  };
}

function ownedBy(daemonSet: InstalledDaemonSet, so: string) {
  const { controller } = daemonSet;
  return controller ? [{ daemonSet, why: `it belongs to ${controller.kind} ${controller.name}: ${so}` }] : [];
}

function commandFor(need: Need): string | undefined {
  const { namespace, name, controller } = need.daemonSet;
  const inInstallation = installationPath(need.daemonSet);
  if (inInstallation && controller) {
    const patch = {};
    put(patch, ['spec', ...inInstallation], allOf(need));
    return `kubectl patch installation.operator.tigera.io ${shellWord(controller.name)} --type=merge -p ${shellWord(JSON.stringify(patch))}`;
  }
  if (controller) return undefined;
  const patch = shellWord(JSON.stringify(operationsFor(need)));
  return `kubectl patch -n ${shellWord(namespace)} daemonset ${shellWord(name)} --type=json -p ${patch}`;
}

/** Existing tolerations stay, also later ones: items are added at the end, and a list is created only if there is none. */
function operationsFor({ daemonSet, tolerations }: Need): Operation[] {
  if (daemonSet.tolerations.length > 0)
    return tolerations.map((value) => ({ op: 'add', path: `${TOLERATIONS}/-`, value }));
  return [
    { op: 'test', path: TOLERATIONS, value: null },
    { op: 'add', path: TOLERATIONS, value: tolerations },
  ];
}

/** A component of Kustomize (kustomize.config.k8s.io/v1alpha1). */
export interface Component {
  readonly apiVersion: string;
  readonly kind: 'Component';
  readonly patches: readonly { readonly target: object; readonly patch: string }[];
}

/**
 * A component that adds tolerations to the DaemonSets of the including kustomization. Each patch has the whole list, because a manifest may have
 * other tolerations than the DaemonSet, or none.
 * @param write formats a patch
 */
export function kustomizeComponent(needs: readonly Need[], write: (patch: object) => string): Remedies<Component> {
  const own = needs.filter(({ daemonSet }) => daemonSet.controller === undefined);
  const names = Map.groupBy(own, ({ daemonSet }) => daemonSet.name);
  const patches = own.map((need) => {
    const { namespace, name } = need.daemonSet;
    // A manifest need not name its namespace, so the target names one only if needed.
    const inNamespace = (names.get(name)?.length ?? 0) > 1 ? { namespace: asPattern(namespace) } : {};
    const spec = { template: { spec: { tolerations: allOf(need) } } };
    return {
      target: { group: 'apps', version: 'v1', kind: 'DaemonSet', name: asPattern(name), ...inNamespace },
      patch: write({ apiVersion: 'apps/v1', kind: 'DaemonSet', metadata: { name }, spec }),
    };
  });
  const component = { apiVersion: 'kustomize.config.k8s.io/v1alpha1', kind: 'Component', patches } as const;
  return {
    remedies: patches.length > 0 ? [component] : [],
    left: needs.flatMap(({ daemonSet }) => ownedBy(daemonSet, 'it has no manifest of its own')),
  };
}

/** Kustomize reads names of targets as regular expressions. */
function asPattern(name: string): string {
  return name.replaceAll('.', '\\.');
}
