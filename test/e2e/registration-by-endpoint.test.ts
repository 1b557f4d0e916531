import { afterAll, beforeAll, expect, it } from 'vitest';
import { JSON_PATCH } from '../control-plane/content-types.ts';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { NAMESPACE, SERVICE } from '../control-plane/replicas.ts';
import { admin } from '../control-plane/users.ts';
import { waitUntil } from '../control-plane/wait-until.ts';
import { createWebhookService } from '../control-plane/webhook-service.ts';
import { ON_PODS, POD_ADDRESS } from './doctor-rig.ts';
import {
  configurationPath,
  type Installation,
  install,
  registerControlPlaneNode,
  waitUntilProtected,
} from './installation.ts';
import { policyObject } from './policy-objects.ts';
import { createPolicy, POLICIES_PATH } from './policy-resources.ts';
import { runTaintkeeper } from './run-taintkeeper.ts';

const CORE = `/api/v1/namespaces/${NAMESPACE}`;
const SLICES = `/apis/discovery.k8s.io/v1/namespaces/${NAMESPACE}/endpointslices`;
/** Three connections that are not made, of 3 s each, the pauses between them, and the back-off after the tenth. */
const GIVEN_UP_MS = 60_000;
const TEST_TIMEOUT_MS = 150_000;

interface Condition {
  readonly type: string;
  readonly reason: string;
  readonly message: string;
}

describeWithControlPlane('the registration without a call over the Service', ON_PODS, (cp) => {
  let installation: Installation;
  beforeAll(async () => {
    installation = await install(cp());
    await registerControlPlaneNode(cp(), 'cp-1');
  });
  afterAll(() => installation.stop());

  /** Waits until the conditions `Ready` of every TaintPolicy are as the test asks for. */
  async function waitForReady(isAsked: (ready: Condition) => boolean): Promise<void> {
    await waitUntil(
      async () => {
        const { body } = await cp().request<{ items: { status?: { conditions: Condition[] } }[] }>(
          admin,
          'GET',
          POLICIES_PATH.TaintPolicy,
        );
        const found = body.items.map(({ status }) => status?.conditions.find(({ type }) => type === 'Ready'));
        return found.every((ready) => ready && isAsked(ready)) || undefined;
      },
      { timeoutMs: GIVEN_UP_MS, otherwise: () => 'the status does not say it' },
    );
  }

  it(
    'needs no way from the pod to itself: that the pod is a ready endpoint is enough, and is said',
    async () => {
      // Nobody leads this machine to a cluster IP; the API server goes by the endpoints.
      await createWebhookService(cp(), NAMESPACE, SERVICE);
      const port = installation.proxy.port;
      const spec = { type: 'ClusterIP', ports: [{ name: 'webhook', port, targetPort: 'webhook', protocol: 'TCP' }] };
      const patched = await cp().request(admin, 'PATCH', `${CORE}/services/${SERVICE}`, {
        body: [
          { op: 'remove', path: '/spec/externalName' },
          { op: 'add', path: '/spec/type', value: spec.type },
          { op: 'add', path: '/spec/ports', value: spec.ports },
        ],
        contentType: JSON_PATCH,
      });
      expect(patched).toMatchObject({ status: 200 });

      const [replica] = await installation.start(['a'], { servicePort: port });
      await replica?.waitForLog(({ msg }) => /cannot be reached from here/.test(msg), GIVEN_UP_MS);
      expect((await cp().request(admin, 'GET', configurationPath('validating'))).status).toBe(404);

      const slice = {
        metadata: { name: 'of-a', labels: { 'kubernetes.io/service-name': SERVICE } },
        addressType: 'IPv4',
        ports: [{ name: 'webhook', protocol: 'TCP', port: replica?.port }],
        endpoints: [
          {
            addresses: [POD_ADDRESS],
            conditions: { ready: true },
            targetRef: { kind: 'Pod', namespace: NAMESPACE, name: 'a' },
          },
        ],
      };
      expect((await cp().request(admin, 'POST', SLICES, { body: slice })).status).toBe(201);
      await waitUntilProtected(cp(), 'cp-1');

      const said =
        /without a call over (the|its) Service: Service taintkeeper\/taintkeeper \(.* port \d+\) cannot be reached from here: .*; this pod is a ready endpoint of it/;
      expect(replica?.logs().filter(({ msg }) => said.test(msg))).not.toEqual([]);
      await waitForReady(({ reason, message }) => reason === 'ServiceNotReachable' && said.test(message));
      expect((await runTaintkeeper(cp(), ['doctor'])).stdout).toMatch(
        /the webhook was registered without a call over its Service: /,
      );

      await createWebhookService(cp(), NAMESPACE, SERVICE);
      // The leader tries each minute, and when policies have changed.
      const taints = [{ key: 'another' }];
      await createPolicy(cp(), policyObject('TaintPolicy', 'another', { mode: 'Audit', taints }));
      await waitForReady(({ reason }) => reason === 'InForce');
    },
    TEST_TIMEOUT_MS,
  );
});
