import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findAssets } from '../control-plane/assets.ts';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import type { ToolResult } from '../control-plane/run-tool.ts';
import { admin } from '../control-plane/users.ts';
import { waitUntil } from '../control-plane/wait-until.ts';
import { createWorkspace, type Workspace } from '../control-plane/workspace.ts';
import { skipFor } from '../skip-for.ts';
import { PROTECTION, seeProtection } from './native-protection.ts';
import { obstacleToMutation } from './native-rig.ts';
import { runOffline } from './run-taintkeeper.ts';

const OLDER = findAssets().isOlder;
const TYPE_CHECK_TIMEOUT_MS = 20_000;

interface TypeChecked {
  readonly metadata: { readonly name: string; readonly generation: number };
  readonly status?: {
    readonly observedGeneration?: number;
    readonly typeChecking?: { readonly expressionWarnings?: readonly object[] };
  };
}

describe('what taintkeeper export writes', () => {
  let workspace: Workspace;
  let policies: string;

  beforeAll(() => {
    workspace = createWorkspace('export');
    policies = workspace.write('policies.yaml', PROTECTION);
  });
  afterAll(() => workspace.remove());

  function exported(...args: string[]): Promise<ToolResult> {
    return runOffline(['export', '--policies', policies, ...args]);
  }

  describeWithControlPlane(
    'as objects',
    // The controller manager looks for faults in types.
    { mutatingPolicies: true, components: OLDER ? [] : ['kube-controller-manager'] },
    (cp) => {
      it('holds without a webhook, and says what it leaves out', async () => {
        const { code, stdout, stderr } = await exported('--kubernetes', cp().version.gitVersion);
        expect(code, stderr).toBe(0);
        expect(stderr).toContain('TolerationPolicy cni: spec.existing: ');
        const applied = await cp().kubectl(['apply', '-f', '-'], { input: stdout });
        expect(applied.code, applied.stderr).toBe(0);
        await seeProtection(cp(), { mutates: !obstacleToMutation });
      });

      it(
        'has no fault in its types',
        skipFor(OLDER ? 'types are checked by the controller manager, which is newer than this API server' : undefined),
        async () => {
          const checked = await waitUntil(
            async () => {
              const { body } = await cp().request<{ items: TypeChecked[] }>(
                admin,
                'GET',
                '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies',
              );
              return body.items.every(({ metadata, status }) => status?.observedGeneration === metadata.generation)
                ? body.items
                : undefined;
            },
            { timeoutMs: TYPE_CHECK_TIMEOUT_MS, otherwise: () => 'the types are not checked' },
          );
          expect(checked.length).toBeGreaterThan(5);
          expect(checked.filter(({ status }) => status?.typeChecking?.expressionWarnings)).toEqual([]);
        },
      );
    },
  );

  it('does without MutatingAdmissionPolicy where it is told to', async () => {
    const { stdout, stderr } = await exported('--kubernetes', '1.34', '--no-mutating');
    expect(stdout).not.toContain('kind: MutatingAdmissionPolicy');
    expect(stderr).toContain('TaintPolicy restore: spec.mode: ');
  });
});
