import { readFileSync } from 'node:fs';
import { expect } from 'vitest';
import { formatDiagnosis } from '../../src/cli/doctor/diagnosis.ts';
import type { CheckResult } from '../../src/doctor/check.ts';
import type { Diagnosis } from '../../src/doctor/diagnosis.ts';
import type { ControlPlane } from '../control-plane/control-plane.ts';
import { admin } from '../control-plane/users.ts';
import { waitUntil } from '../control-plane/wait-until.ts';
import { type DaemonSet, toleratesMaster } from './daemon-sets.ts';
import { type DoctorRig, issue, type Pair, startDoctorRig } from './doctor-rig.ts';
import { type InstallationOptions, registerControlPlaneNode, waitUntilProtected } from './installation.ts';
import { runTaintkeeper } from './run-taintkeeper.ts';

const GUIDE = readFileSync(new URL('../../docs/troubleshooting.md', import.meta.url), 'utf8');
/** The output that the guide shows. */
const [, SHOWN = ''] = /^```console\n\$ taintkeeper doctor.*\n([\s\S]*?)^```$/m.exec(GUIDE) ?? [];

/** What `doctor --all` prints if there is no problem. */
const HEALTHY_CHECKS = readFileSync(new URL('healthy-doctor.txt', import.meta.url), 'utf8');

/** An output without what differs between runs and machines. */
const shapeOf = (text: string) =>
  text
    .replaceAll(/\b([0-9A-F]{2}:){7}[0-9A-F]{2}\b/g, 'FINGERPRINT')
    .replaceAll(/\S+_[0-9a-f-]{36} holds/g, 'LEADER holds')
    .replaceAll(/\d[\d.:TZ-]*/g, '0')
    .replaceAll(/ +/g, ' ');

/** Compares a diagnosis with the output that the guide shows. */
function expectInGuide(diagnosis: Diagnosis): void {
  expect(shapeOf(formatDiagnosis(diagnosis, 'table'))).toBe(shapeOf(SHOWN));
}

/** Compares every check of a diagnosis, with its evidence, with those of a healthy installation. */
export function expectHealthyChecks(diagnosis: Diagnosis): void {
  expect(shapeOf(formatDiagnosis(diagnosis, 'table', { all: true }))).toBe(shapeOf(HEALTHY_CHECKS));
}

export interface Fault {
  readonly fault: string;
  readonly result: Diagnosis['result'];
  /** The one check that has a problem. */
  readonly check: string;
  readonly says: RegExp;
  /** Whether docs/troubleshooting.md shows its output. */
  readonly inGuide?: true;
  breakIt(): Promise<unknown>;
  fixIt(): Promise<unknown>;
}

interface Diagnosed {
  readonly code: number;
  readonly diagnosis: Diagnosis;
}

/** An installation without a fault, and `doctor` that looks at it. */
export interface HealthyInstallation {
  readonly rig: DoctorRig;
  /** What its replicas serve. */
  readonly pair: Pair;
  /** Runs `doctor` until there is no problem and `isExpected`. */
  healthy(isExpected?: (diagnosis: Diagnosis) => boolean): Promise<Diagnosed>;
  /** Breaks it, sees that `doctor` names this fault and no other, and fixes it. */
  namesIt(fault: Fault): Promise<void>;
}

export const problemsOf = ({ checks }: Diagnosis): CheckResult[] => checks.filter(({ state }) => state === 'problem');

export async function startHealthyInstallation(
  cp: ControlPlane,
  options?: InstallationOptions,
): Promise<HealthyInstallation> {
  const pair = await issue({ days: 1 });
  const rig = await startDoctorRig(cp, pair, options);
  await registerControlPlaneNode(cp, 'cp-1');
  await waitUntilProtected(cp, 'cp-1');
  await makeFlannel(cp);
  await healthy();
  return { rig, pair, healthy, namesIt };

  async function doctor(): Promise<Diagnosed> {
    const { code, stdout, stderr } = await runTaintkeeper(cp, ['doctor', '-o', 'json']);
    if (stdout === '') throw new Error(`doctor printed nothing, and ended with ${code}: ${stderr}`);
    for (const { key } of [pair.serving, pair.ca]) expect(stdout).not.toContain(key.split('\n')[1]);
    return { code, diagnosis: JSON.parse(stdout) };
  }

  /**
   * What was broken may take a moment to be whole again: statuses are written, certificates read anew. And on a busy machine a replica may not
   * answer for three seconds, which is one more problem.
   */
  async function doctorUntil(what: string, isExpected: (diagnosis: Diagnosis) => boolean): Promise<Diagnosed> {
    let last: Diagnosis | undefined;
    return waitUntil(
      async () => {
        const found = await doctor();
        last = found.diagnosis;
        return isExpected(last) ? found : undefined;
      },
      { timeoutMs: 40_000, otherwise: () => `not ${what}: ${JSON.stringify(last, null, 2)}` },
    );
  }

  function healthy(isExpected: (diagnosis: Diagnosis) => boolean = () => true): Promise<Diagnosed> {
    return doctorUntil('healthy', (diagnosis) => diagnosis.result === 'healthy' && isExpected(diagnosis));
  }

  async function namesIt({ result, check, says, inGuide, breakIt, fixIt }: Fault): Promise<void> {
    await breakIt();
    try {
      const { code, diagnosis } = await doctorUntil(
        `only ${check}`,
        (found) => found.result === result && problemsOf(found).every(({ name }) => name === check),
      );
      const problems = problemsOf(diagnosis);
      expect(diagnosis.summary).toMatch(says);
      for (const { remedy } of problems) expect(remedy).toBeDefined();
      expect(code).toBe(1);
      if (inGuide) expectInGuide(diagnosis);
    } finally {
      await fixIt();
    }
  }
}

async function makeFlannel(cp: ControlPlane): Promise<void> {
  const labels = { app: 'flannel' };
  const body = {
    metadata: { name: 'kube-flannel-ds' },
    spec: {
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: 'flannel', image: 'example.com/flannel' }] } },
    },
  };
  await cp.request(admin, 'POST', '/api/v1/namespaces', { body: { metadata: { name: 'kube-flannel' } } });
  const path = '/apis/apps/v1/namespaces/kube-flannel/daemonsets';
  // A webhook that does not answer within two seconds is ignored: on a busy machine the DaemonSet can pass without its tolerations.
  await waitUntil(
    async () => {
      const created = await cp.request<DaemonSet>(admin, 'POST', path, { body });
      expect(created.status).toBe(201);
      if (toleratesMaster(created.body)) return true;
      await cp.request(admin, 'DELETE', `${path}/kube-flannel-ds`);
      return undefined;
    },
    { timeoutMs: 40_000, otherwise: () => 'the webhook adds no tolerations' },
  );
}
