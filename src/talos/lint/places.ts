import type { Path } from '../../policy/problem.ts';
import { documentSection, type Section } from '../fields.ts';
import { KUBELET_FLAGS } from './component-flags.ts';

let known: ReadonlyMap<string, readonly Path[]> | undefined;

/** Where in `machine` and `cluster` there is a field of that name; nothing for names that are common, which tell nothing. */
export function placesOf(name: string): readonly Path[] {
  known ??= index();
  const places = known.get(name) ?? [];
  const ofKubelet = kubeletSection(name);
  if (places.length === 0 && ofKubelet) return [['machine', 'kubelet', ofKubelet.older, name]];
  return places.length <= MANY ? places : [];
}

/** The free section of the kubelet that a setting is for, by the names of the older shape and of KubeletConfig. */
export function kubeletSection(name: string): { readonly older: string; readonly newer: string } | undefined {
  if (KUBELET_FLAGS.includes(name)) return { older: 'extraArgs', newer: 'extraArgs' };
  return KUBELET_SETTINGS.includes(name) ? { older: 'extraConfig', newer: 'config' } : undefined;
}

/** Of KubeletConfiguration: what people look for elsewhere, and what has no field of its own there. */
const KUBELET_SETTINGS: readonly string[] = [
  'registerWithTaints',
  'registerNode',
  'maxPods',
  'evictionHard',
  'kubeReserved',
  'systemReserved',
  'cpuManagerPolicy',
  'serverTLSBootstrap',
];

/** More places than this, and the name alone does not say what is meant. */
const MANY = 2;

function index(): ReadonlyMap<string, readonly Path[]> {
  const found = new Map<string, Path[]>();
  const walk = (section: Section, path: Path): void => {
    if (section.kind !== 'fields') return;
    for (const [name, { section: below }] of section.fields) {
      const at = [...path, name];
      found.set(name, [...(found.get(name) ?? []), at]);
      walk(below, at);
    }
  };
  walk(documentSection(undefined), []);
  return found;
}
