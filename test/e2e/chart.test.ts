import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { CHART, IMAGE, INSTALL, NAMESPACE, renderChart, renderInstall, renderRights } from '../../scripts/chart.ts';
import { VERSION } from '../../src/version.ts';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { obstacleToHelm, runHelm } from '../control-plane/helm.ts';
import { skipFor } from '../skip-for.ts';
import { chartDifference } from './chart-difference.ts';
import { FOREIGN_DEFINITIONS } from './foreign-definitions.ts';
import { deploymentOf, type KubernetesObject, objectsOf, type PodSpec } from './kubernetes-objects.ts';

const PRESETS = readdirSync(join(CHART, 'presets')).map((file) => file.replace('.yaml', ''));
const preset = (name: string) => ['--values', join(CHART, 'presets', `${name}.yaml`)];
const CLIENT_CA = ['--set', 'clientCertificate.caConfigMap=api-servers'];
/** With the value that the preset asks for. */
const usablePreset = (name: string) => [...preset(name), ...(name === 'host-network' ? CLIENT_CA : [])];

/** Everything that is off by default. */
const ALL_ON = [
  'namespace.create=true,resourceQuota.enabled=true,serviceMonitor.enabled=true,serviceMonitor.labels.release=prometheus',
  'networkPolicy.adminFrom[0].namespaceSelector.matchLabels.name=monitoring',
  'listenAddress=::,podLabels.a=b,podAnnotations.c=d,tolerations[0].operator=Exists,imagePullSecrets[0].name=mirror,extraArgs[0]=--audit',
  'nativePolicies=true,patchDaemonSets=true,recoverPods=true,selfRestriction=true',
  'apiServer.host=localhost,apiServer.port=7445,certificate.existingSecret=tls',
  'clientCertificate.caConfigMap=api-servers,page=false,adminListenAddress=10.0.0.1',
  `image.repository=mirror.example/tk,image.digest=sha256:${'0'.repeat(64)}`,
  'affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight=10',
  'affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].podAffinityTerm.topologyKey=rack',
  'affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].podAffinityTerm.labelSelector.matchLabels.a=b',
].flatMap((values) => ['--set', values]);

async function render(args: readonly string[] = []): Promise<KubernetesObject[]> {
  return objectsOf(await renderChart(args));
}

interface LabelSelector {
  readonly matchLabels: object;
}

const kindsOf = (objects: readonly KubernetesObject[]) => objects.map(({ kind }) => kind);
const ruleFor = (objects: readonly KubernetesObject[], resource: string) =>
  objects
    .filter(({ kind }) => kind === 'Role')
    .flatMap(({ rules }) => rules as { resources: string[] }[])
    .filter(({ resources }) => resources.includes(resource));

describe('the chart', skipFor(obstacleToHelm()), () => {
  it('has no complaint from helm lint', async () => {
    const image = ['--set', `image.repository=${IMAGE}`];
    expect(await runHelm(['lint', '--strict', CHART, ...image])).toMatchObject({ code: 0, stderr: '' });
  });

  it('is what manifests/install.yaml and manifests/rights were rendered from', async () => {
    expect(readFileSync(INSTALL, 'utf8'), 'run `npm run generate`').toBe(await renderInstall());
    for (const [file, text] of await renderRights()) expect(readFileSync(file, 'utf8'), file).toBe(text);
  });

  it.each([
    { values: 'replica=3', complaint: "'replica' not allowed" },
    { values: 'image.digset=x', complaint: "'digset' not allowed" },
    { values: 'replicas=two', complaint: 'got string, want integer' },
    { values: 'ports.webhook=443', complaint: 'minimum: got 443, want 1,024' },
    { values: 'image.digest=latest', complaint: "'latest' does not match pattern" },
    { values: 'resources.memoryLimitMiB=64', complaint: 'minimum: got 64, want 192' },
    { values: 'certificate.existingSecret=a,certificate.certManager.enabled=true', complaint: "/certificate': 'not'" },
  ])('refuses --set $values', async ({ values, complaint }) => {
    await expect(render(['--set', values])).rejects.toThrow(complaint);
  });

  it.each([
    { file: 'everything-set', args: ALL_ON },
    ...PRESETS.map((name) => ({ file: name, args: usablePreset(name) })),
    {
      file: 'cert-manager-with-an-issuer',
      args: [
        ...preset('cert-manager'),
        ...['--set', 'certificate.certManager.issuerRef.name=ca,certificate.certManager.issuerRef.kind=ClusterIssuer'],
      ],
    },
  ])('renders, beside what it renders without values, what chart-snapshots/$file.txt has', async ({ file, args }) => {
    const [usual, changed] = await Promise.all([render(), render(args)]);
    // `npm test -- test/e2e/chart.test.ts --update` writes them anew.
    await expect(chartDifference(usual, changed)).toMatchFileSnapshot(`chart-snapshots/${file}.txt`);
  });

  it('requires the name of the image: another user could register a default name', async () => {
    await expect(render(['--set', 'image.repository='])).rejects.toThrow(
      /image\.repository is empty: .*docs\/install\.md/,
    );
  });

  it.each([
    { value: 'nativePolicies', name: 'taintkeeper-native-policies' },
    { value: 'patchDaemonSets', name: 'taintkeeper-patch-daemon-sets' },
    { value: 'recoverPods', name: 'taintkeeper-recover-pods' },
    { value: 'listPods', name: 'taintkeeper-list-pods' },
    { value: 'listCsiNodes', name: 'taintkeeper-list-csi-nodes' },
    { value: 'listNodePools', name: 'taintkeeper-list-node-pools' },
  ])('$value grants what only some policies ask for, by a role of its own: Helm takes it away again', async (given) => {
    const byDefault = (await render()).filter(({ kind }) => kind.startsWith('ClusterRole'));
    expect(byDefault.map(({ metadata }) => metadata.name)).toEqual(['taintkeeper', 'taintkeeper']);
    const granted = (await render(['--set', `${given.value}=true`])).filter(({ kind }) =>
      kind.startsWith('ClusterRole'),
    );
    expect(granted).toEqual(expect.arrayContaining(byDefault));
    const added = granted.filter(({ metadata }) => metadata.name !== 'taintkeeper');
    expect(added.map(({ kind, metadata }) => [kind, metadata.name])).toEqual([
      ['ClusterRole', given.name],
      ['ClusterRoleBinding', given.name],
    ]);
    expect(added[1]).toMatchObject({
      roleRef: { name: given.name },
      subjects: [{ kind: 'ServiceAccount', name: 'taintkeeper', namespace: NAMESPACE }],
    });
  });

  it.each(['', 'host-network', 'single-replica'])(
    'no replica is sent to a node that is not ready, where a kubelet that shuts down rejects it: preset %j',
    async (name) => {
      const { tolerations } = deploymentOf(await render(name ? usablePreset(name) : [])).deployment.spec.template.spec;
      expect(tolerations).toContainEqual(
        expect.objectContaining({ key: 'node.kubernetes.io/not-ready', effect: 'NoExecute' }),
      );
      expect(tolerations).not.toContainEqual(
        expect.objectContaining({ key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' }),
      );
    },
  );

  it.each([
    { values: 'shutdownDelaySeconds=null', says: '--reset-then-reuse-values, not --reuse-values' },
    { values: 'extraArgs={--no-native-policies}', says: 'extraArgs: there is no --no-native-policies any more' },
  ])(
    'values of an older chart are refused, not rendered into pods that cannot start: $values',
    async ({ values, says }) => {
      await expect(render(['--set', values])).rejects.toThrow(says);
    },
  );

  describe('preset host-network', () => {
    const WITH_CLIENTS = usablePreset('host-network');

    it.each([{ args: preset('host-network') }, { args: ['--set', 'hostNetwork=true'] }])(
      'asks for client certificates, and says which value to set: $args',
      async ({ args }) => {
        await expect(render(args)).rejects.toThrow(
          /hostNetwork: every host that reaches a node could call the webhook .*set clientCertificate\.caConfigMap, .*or clientCertificate\.allowAnyClient=true/,
        );
      },
    );

    it('admits any client where that is asked for: managed control planes show no certificate', async () => {
      const { container } = deploymentOf(
        await render([...preset('host-network'), '--set', 'clientCertificate.allowAnyClient=true']),
      );
      expect(container.args.join(' ')).not.toContain('--client-ca');
    });

    it.each([
      { listenAddress: '0.0.0.0', loopback: '127.0.0.1' },
      { listenAddress: '::', loopback: '::1' },
    ])(
      'opens the plain listener to the node alone, which is where probes come from: $listenAddress',
      async ({ listenAddress, loopback }) => {
        const { container } = deploymentOf(await render([...WITH_CLIENTS, '--set', `listenAddress=${listenAddress}`]));
        expect(container.args).toEqual(expect.arrayContaining([`--host=${listenAddress}`, `--admin-host=${loopback}`]));
        for (const probe of ['startupProbe', 'livenessProbe', 'readinessProbe']) {
          expect(container[probe]).toMatchObject({ httpGet: { port: 'admin', host: loopback } });
        }
      },
    );

    it('refuses a ServiceMonitor whose Prometheus could not reach the metrics', async () => {
      await expect(render([...WITH_CLIENTS, '--set', 'serviceMonitor.enabled=true'])).rejects.toThrow(
        /serviceMonitor: .* set adminListenAddress/,
      );
      const args = [...WITH_CLIENTS, '--set', 'serviceMonitor.enabled=true,adminListenAddress=0.0.0.0'];
      expect(kindsOf(await render(args))).toContain('ServiceMonitor');
    });
  });

  describe('a loopback address', () => {
    it.each(['127.0.0.1', '127.0.0.2', '::1', 'localhost'])(
      'is refused for a pod with its own network, where neither probes nor the API server reach it: %s',
      async (address) => {
        await expect(render(['--set', `adminListenAddress=${address}`])).rejects.toThrow(
          `adminListenAddress: without hostNetwork, ${address} is the loopback address of the pod, which the kubelet's probes do not reach: leave it empty, or set it to 0.0.0.0, or to :: with IPv6 only`,
        );
        for (const values of [`listenAddress=${address}`, `listenAddress=${address},adminListenAddress=0.0.0.0`]) {
          await expect(render(['--set', values])).rejects.toThrow(
            `listenAddress: without hostNetwork, ${address} is the loopback address of the pod, which neither the API server nor the kubelet's probes reach: set it to 0.0.0.0, or to :: with IPv6 only`,
          );
        }
      },
    );

    it.each(['127.0.0.1', '::1', 'localhost'])(
      'is that of the node, and of its probes, with hostNetwork: %s',
      async (address) => {
        const values = `hostNetwork=true,clientCertificate.caConfigMap=a,adminListenAddress=${address}`;
        const { container } = deploymentOf(await render(['--set', values]));
        expect(container.args).toContain(`--admin-host=${address}`);
        for (const probe of ['startupProbe', 'livenessProbe', 'readinessProbe']) {
          expect(container[probe]).toMatchObject({ httpGet: { port: 'admin', host: address } });
        }
      },
    );
  });

  it('refuses equal ports: the program could not start', async () => {
    await expect(render(['--set', 'ports.admin=8443'])).rejects.toThrow(
      'ports: webhook and admin must not both be 8443',
    );
  });

  it('the NetworkPolicy admits only the peers in networkPolicy.adminFrom to the metrics, by default none', async () => {
    const ingress = async (...values: string[]) => {
      const objects = await render(values.flatMap((value) => ['--set', value]));
      const policies = objects.filter(({ kind }) => kind === 'NetworkPolicy');
      return policies.flatMap(({ spec }) => (spec as { ingress: unknown[] }).ingress);
    };
    const webhook = { ports: [{ port: 'webhook', protocol: 'TCP' }] };
    expect(await ingress()).toEqual([webhook]);
    expect(await ingress('networkPolicy.adminFrom[0].podSelector.matchLabels.app=prometheus')).toEqual([
      webhook,
      {
        ports: [{ port: 'admin', protocol: 'TCP' }],
        from: [{ podSelector: { matchLabels: { app: 'prometheus' } } }],
      },
    ]);
  });

  it('refuses a ServiceMonitor whose Prometheus the NetworkPolicy keeps out', async () => {
    await expect(render(['--set', 'serviceMonitor.enabled=true'])).rejects.toThrow(
      'serviceMonitor: the NetworkPolicy admits no pod to the metrics: set networkPolicy.adminFrom',
    );
    const objects = await render(['--set', 'serviceMonitor.enabled=true,networkPolicy.enabled=false']);
    expect(kindsOf(objects)).toContain('ServiceMonitor');
  });

  it('in the network of the nodes a rollout does not wait for a pod that no port is free for, preset or not', async () => {
    const strategyWith = async (...values: string[]) =>
      deploymentOf(await render(values.flatMap((value) => ['--set', value]))).deployment.spec.strategy;
    const rollingUpdate = { maxUnavailable: 1, maxSurge: 0 };
    expect(await strategyWith('hostNetwork=true,clientCertificate.caConfigMap=a')).toEqual({
      type: 'RollingUpdate',
      rollingUpdate,
    });
    expect(await strategyWith()).toEqual({
      type: 'RollingUpdate',
      rollingUpdate: { maxUnavailable: 0, maxSurge: 1 },
    });
    expect(await strategyWith('strategy.maxUnavailable=50%')).toMatchObject({
      rollingUpdate: { maxUnavailable: '50%', maxSurge: 1 },
    });
    await expect(
      strategyWith('hostNetwork=true,clientCertificate.caConfigMap=a', 'strategy.maxSurge=1'),
    ).rejects.toThrow('strategy.maxSurge: must be 0 with hostNetwork');
  });

  it.each([
    { values: 'strategy.maxUnavailable=1,strategy.maxSurge=0', expected: { maxUnavailable: 1, maxSurge: 0 } },
    { values: 'strategy.maxUnavailable=50%,strategy.maxSurge=0%', expected: { maxUnavailable: '50%', maxSurge: '0%' } },
    { values: 'strategy.maxUnavailable=0,strategy.maxSurge=2', expected: { maxUnavailable: 0, maxSurge: 2 } },
    {
      values: 'hostNetwork=true,clientCertificate.caConfigMap=a,strategy.maxUnavailable=2,strategy.maxSurge=0',
      expected: { maxUnavailable: 2, maxSurge: 0 },
    },
  ])('keeps what strategy has, also a 0: $values', async ({ values, expected }) => {
    const { deployment } = deploymentOf(await render(['--set', values]));
    expect(deployment.spec.strategy).toEqual({ type: 'RollingUpdate', rollingUpdate: expected });
  });

  it.each([
    'strategy.maxUnavailable=0,strategy.maxSurge=0',
    'strategy.maxUnavailable=0%,strategy.maxSurge=00%',
    'strategy.maxSurge=0',
    'hostNetwork=true,clientCertificate.caConfigMap=a,strategy.maxUnavailable=0',
  ])('refuses a strategy with which no pod could be replaced: %s', async (values) => {
    await expect(render(['--set', values])).rejects.toThrow(
      'strategy: maxUnavailable and maxSurge are both 0, so a rollout could replace no pod: set strategy.maxUnavailable to 1 or more',
    );
  });

  it('is not installed into kube-system because a kubeconfig says so: the daemons there would be left alone', async () => {
    const intoKubeSystem = ['--namespace', 'kube-system'];
    await expect(render(intoKubeSystem)).rejects.toThrow('--namespace taintkeeper --create-namespace');
    const elsewhere = (await render(ALL_ON)).filter(({ metadata }) => metadata.namespace === 'kube-system');
    expect(elsewhere).toEqual([]);
  });

  it('every object says what it belongs to, in the common labels', async () => {
    for (const { kind, metadata } of await render(ALL_ON)) {
      expect({ kind, labels: metadata.labels }).toMatchObject({
        labels: {
          'app.kubernetes.io/name': 'taintkeeper',
          'app.kubernetes.io/instance': 'taintkeeper',
          'app.kubernetes.io/part-of': 'taintkeeper',
          'app.kubernetes.io/component': expect.any(String),
          'app.kubernetes.io/version': VERSION,
          'app.kubernetes.io/managed-by': 'Helm',
          'helm.sh/chart': `taintkeeper-${VERSION}`,
        },
      });
    }
    // What kubectl applies is not Helm's.
    expect(readFileSync(INSTALL, 'utf8')).not.toMatch(/managed-by: Helm|helm\.sh/);
  });

  it('preset openshift: the security context has no user of its own, and a field of it can be another', async () => {
    const contextsWith = async (args: readonly string[]) => {
      const { deployment, container } = deploymentOf(await render(args));
      return { pod: deployment.spec.template.spec.securityContext, container: container.securityContext };
    };
    const strict = { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } };
    const own = { runAsUser: 65532, runAsGroup: 65532, fsGroup: 65532 };
    const container = {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    };
    expect(await contextsWith([])).toEqual({ pod: { ...strict, ...own }, container });
    expect(await contextsWith(preset('openshift'))).toEqual({ pod: strict, container });
    expect(await contextsWith(['--set', 'podSecurityContext.fsGroup=7,securityContext.privileged=false'])).toEqual({
      pod: { ...strict, ...own, fsGroup: 7 },
      container: { ...container, privileged: false },
    });
  });

  it('helm test runs a pod of the same image without a token, and the Service does not select it', async () => {
    const objects = await render();
    const pod = objects.find(({ kind }) => kind === 'Pod') as KubernetesObject & { spec: PodSpec };
    const { deployment, container } = deploymentOf(objects);
    expect(pod.metadata.annotations).toMatchObject({
      'helm.sh/hook': 'test',
      // `helm uninstall` would leave one that failed.
      'helm.sh/hook-delete-policy': expect.stringContaining('hook-failed'),
    });
    expect(pod.spec).toMatchObject({
      automountServiceAccountToken: false,
      restartPolicy: 'Never',
      securityContext: deployment.spec.template.spec.securityContext,
      containers: [{ image: container.image, securityContext: container.securityContext }],
    });
    expect(pod.spec.serviceAccountName).toBeUndefined();
    // Where the image has Node.js: the image starts the program by the same path.
    const dockerfile = readFileSync(join(CHART, '..', '..', 'Dockerfile'), 'utf8');
    const [, node] = /^ENTRYPOINT \["([^"]+)"/m.exec(dockerfile) ?? [];
    expect(pod.spec.containers[0]?.command).toEqual([node, '--eval', expect.any(String)]);
    const selected = objects.find(({ kind }) => kind === 'Service')?.spec as { selector: object };
    expect(pod.metadata.labels).not.toMatchObject(selected.selector);
  });

  it('preset cert-manager: no Secret is read', async () => {
    expect(ruleFor(await render(preset('cert-manager')), 'secrets')).toEqual([]);
    expect(ruleFor(await render(), 'secrets')).not.toEqual([]);
  });

  it('all that selects the pods, or the Service, does select them', async () => {
    const objects = await render(ALL_ON);
    const find = <T>(kind: string) => {
      const found = objects.find((object) => object.kind === kind);
      if (!found) throw new Error(`no ${kind}`);
      return found as KubernetesObject & { spec: T };
    };
    const pod = find<{ template: KubernetesObject; selector: LabelSelector }>('Deployment').spec;
    const service = find<{ selector: object }>('Service');
    for (const selector of [
      pod.selector.matchLabels,
      service.spec.selector,
      find<{ selector: LabelSelector }>('PodDisruptionBudget').spec.selector.matchLabels,
      find<{ podSelector: LabelSelector }>('NetworkPolicy').spec.podSelector.matchLabels,
    ]) {
      expect(Object.keys(selector)).not.toEqual([]);
      expect(pod.template.metadata.labels).toMatchObject(selector);
    }
    const monitored = find<{ selector: LabelSelector }>('ServiceMonitor').spec.selector.matchLabels;
    expect(service.metadata.labels).toMatchObject(monitored);
  });

  it.each([
    { keep: true, annotations: { 'helm.sh/resource-policy': 'keep' } },
    { keep: false, annotations: undefined },
  ])(
    'crds.keep=$keep says so on every definition, which are otherwise those of its files/crds',
    async ({ keep, annotations }) => {
      const objects = await render(['--set', `crds.keep=${keep}`]);
      const rendered = objects.filter(({ kind }) => kind === 'CustomResourceDefinition');
      const folder = join(CHART, 'files', 'crds');
      const sources = readdirSync(folder).flatMap((file) => objectsOf(readFileSync(join(folder, file), 'utf8')));
      expect(rendered.map(({ metadata: { name }, spec }) => ({ name, spec }))).toEqual(
        sources.map(({ metadata: { name }, spec }) => ({ name, spec })),
      );
      expect(rendered.map(({ metadata }) => metadata.annotations)).toEqual(sources.map(() => annotations));
    },
  );
});

describeWithControlPlane('what the chart renders', { helm: true }, (cp) => {
  beforeAll(async () => {
    const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } };
    // That of the pod of `helm test`: there is no controller manager here that would create it.
    const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'default', namespace: NAMESPACE } };
    const items = [namespace, account, ...FOREIGN_DEFINITIONS];
    const input = JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
    expect(await cp().kubectl(['apply', '-f', '-'], { input })).toMatchObject({ code: 0 });
    const names = FOREIGN_DEFINITIONS.map((one) => `crd/${(one as KubernetesObject).metadata.name}`);
    expect(await cp().kubectl(['wait', '--for=condition=Established', ...names])).toMatchObject({ code: 0 });
  });

  it.each([
    { name: 'nothing set', args: [] },
    { name: 'everything set', args: ALL_ON },
    ...PRESETS.map((name) => ({ name: `preset ${name}`, args: usablePreset(name) })),
    { name: 'all presets', args: PRESETS.flatMap(usablePreset) },
  ])('is accepted by the API server, under strict validation, without a warning: $name', async ({ args }) => {
    const input = await renderChart(args);
    const applied = await cp().kubectl(['create', '--dry-run=server', '--validate=strict', '-f', '-'], { input });
    // The namespace is there already: a dry run cannot put the others into one that it did not really create.
    const complaints = applied.stderr
      .split('\n')
      .filter((line) => line && !/namespaces "taintkeeper" already exists/.test(line));
    expect(complaints).toEqual([]);
    expect(applied.stdout.trim().split('\n')).toHaveLength(
      objectsOf(input).filter(({ kind }) => kind !== 'Namespace').length,
    );
  });

  it('strict validation would have noticed a misspelt field', async () => {
    const input = readFileSync(INSTALL, 'utf8').replace('readOnlyRootFilesystem:', 'readonlyRootFilesystem:');
    const { stderr } = await cp().kubectl(['create', '--dry-run=server', '--validate=strict', '-f', '-'], { input });
    expect(stderr).toContain('unknown field "spec.template.spec.containers[0].securityContext.readonlyRootFilesystem"');
  });
});
