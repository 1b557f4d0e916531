import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { CHART, renderChart } from '../../scripts/chart.ts';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { obstacleToHelm } from '../control-plane/helm.ts';
import { skipFor } from '../skip-for.ts';
import { temporaryDirectory } from '../unit/temporary-directory.ts';
import { FOREIGN_DEFINITIONS } from './foreign-definitions.ts';
import { deploymentOf, type KubernetesObject, objectsOf } from './kubernetes-objects.ts';

const FOLDER = join(import.meta.dirname, '..', '..', 'manifests');
const COMPONENTS = readdirSync(join(FOLDER, 'kustomize', 'components'));

/** What of the chart says the same as a component does; `monitoring` has none. */
const TWINS: Readonly<Record<string, string>> = {
  audit: 'audit-only',
  'cni-bootstrap': 'host-network',
  'cert-manager': 'cert-manager',
};

/** What the program makes of its arguments: of one that is given twice, it takes the last. */
function effectiveOptions(args: readonly string[]): Record<string, string> {
  return Object.fromEntries(args.map((arg) => [arg.replace(/=.*/, ''), arg.replace(/^[^=]*=?/, '')]));
}

it('components address no argument by its number: the chart may add one before it', () => {
  for (const component of COMPONENTS) {
    const text = readFileSync(join(FOLDER, 'kustomize', 'components', component, 'kustomization.yaml'), 'utf8');
    expect(text).not.toMatch(/\/args\/\d/);
  }
});

describeWithControlPlane('manifests/kustomize', {}, (cp) => {
  /** An overlay as users write one, of the base and these components. */
  function overlay(components: readonly string[]): string {
    const folder = temporaryDirectory();
    symlinkSync(FOLDER, join(folder, 'manifests'));
    mkdirSync(join(folder, 'mine'));
    const lines = [
      'resources: [../manifests]',
      'images: [{name: taintkeeper.invalid/taintkeeper, newName: registry.example/taintkeeper}]',
      `components: ${JSON.stringify(components.map((name) => `../manifests/kustomize/components/${name}`))}`,
    ];
    writeFileSync(join(folder, 'mine', 'kustomization.yaml'), `${lines.join('\n')}\n`);
    return join(folder, 'mine');
  }

  async function build(components: readonly string[]): Promise<KubernetesObject[]> {
    const { code, stdout, stderr } = await cp().kubectl(['kustomize', overlay(components)]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    return objectsOf(stdout);
  }

  beforeAll(async () => {
    for (const definition of FOREIGN_DEFINITIONS)
      await cp().kubectl(['create', '-f', '-'], { input: JSON.stringify(definition) });
  });

  it.each([[[]], ...COMPONENTS.map((name) => [[name]]), [COMPONENTS]])(
    'with components %j is taken by the API server',
    async (components) => {
      const objects = await build(components);
      expect(deploymentOf(objects).container.image).toMatch(/^registry\.example\/taintkeeper:/);
      const { code, stderr } = await cp().kubectl([
        'apply',
        '--server-side',
        '--force-conflicts',
        '-k',
        overlay(components),
      ]);
      expect(code, stderr).toBe(0);
      // Nor does it warn of pods that the namespace would not admit.
      expect(stderr).toBe('');
    },
  );

  it.each([[['cert-manager', 'cni-bootstrap']], [['cni-bootstrap', 'cert-manager']]])(
    'components %j keep the volumes of each other, in either order',
    async (components) => {
      const { deployment, container } = deploymentOf(await build(components));
      const names = (list: unknown) => (list as { name: string }[]).map(({ name }) => name).sort();
      expect(names(deployment.spec.template.spec.volumes)).toEqual(['certs', 'client-ca']);
      expect(names(container.volumeMounts)).toEqual(['certs', 'client-ca']);
    },
  );

  describe('says what the chart says', skipFor(obstacleToHelm()), () => {
    it.each(Object.entries(TWINS))('%s', async (component, preset) => {
      const objects = await build([component]);
      const values = [
        '--values',
        join(CHART, 'presets', `${preset}.yaml`),
        '--set',
        `image.repository=registry.example/taintkeeper${preset === 'host-network' ? ',clientCertificate.caConfigMap=api-servers' : ''}`,
      ];
      const chart = objectsOf(await renderChart(values));
      const [own, others] = [objects, chart].map((all) => {
        const { deployment, container } = deploymentOf(all);
        const options = effectiveOptions(container.args);
        return {
          options,
          spec: JSON.parse(JSON.stringify(deployment.spec), (key, value) => (key === 'args' ? [] : value)),
        };
      });
      expect(own).toEqual(others);
      for (const kind of ['Role', 'NetworkPolicy', 'Certificate', 'Issuer']) {
        const specs = (all: readonly KubernetesObject[]) =>
          all
            .filter((object) => object.kind === kind)
            .map(({ metadata, spec, rules }) => ({ name: metadata.name, spec, rules }));
        expect(specs(objects)).toEqual(expect.arrayContaining(specs(chart)));
        expect(specs(objects)).toHaveLength(specs(chart).length);
      }
    });
  });
});
