import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { waitUntil } from '../../control-plane/wait-until.ts';
import { nodeAddress } from '../../real-node/addresses.ts';
import { skipFor } from '../../skip-for.ts';
import { CHANGES, type Effect } from './changes.ts';
import { edited } from './edits.ts';
import { printOnFailure, startTalosLab, type TalosLab } from './lab.ts';
import { TALOS_VERSION } from './programs.ts';
import { obstacleToTalosMachines } from './provide.ts';
import { readContext, writeTalosconfig } from './talosconfigs.ts';

const BOOT_TIMEOUT_MS = 180_000;
const MACHINES = [
  { role: 'control plane', number: 1 },
  { role: 'worker', number: 2 },
] as const;

describe(
  `talosctl ${TALOS_VERSION} apply-config --dry-run and taintkeeper talos doctor -f`,
  skipFor(obstacleToTalosMachines()),
  () => {
    let lab: TalosLab;
    let talosconfig: string;
    /** What is in force, by role. */
    let inForce: Record<(typeof MACHINES)[number]['role'], string>;

    beforeAll(async () => {
      lab = await startTalosLab();
      const generated = await lab.generate('own');
      inForce = { 'control plane': generated.controlPlane, worker: generated.worker };
      const addresses = MACHINES.map(({ number }) => nodeAddress(number));
      talosconfig = writeTalosconfig(lab.workspace, 'admin', {
        ...readContext(generated.talosconfig),
        endpoints: addresses.slice(0, 1),
      });
      await Promise.all(MACHINES.map(({ role, number }) => lab.machine(`t${number}`, number).boot(inForce[role])));
      await waitUntil(async () => (await talosctl('--nodes', addresses.join(','), 'version')).code === 0 || undefined, {
        timeoutMs: BOOT_TIMEOUT_MS,
        otherwise: () => `talosctl gets no answer:\n${lab.logs()}`,
      });
    }, BOOT_TIMEOUT_MS);
    afterAll(() => lab?.stop());
    afterEach(printOnFailure(() => lab));

    const talosctl = (...args: string[]) => lab.run([lab.talosctlPath, '--talosconfig', talosconfig, ...args]);

    async function dryRun(address: string, file: string, mode: string) {
      const args = ['apply-config', '--nodes', address, '--file', file, '--dry-run', '--mode', mode];
      const { code, stdout, stderr } = await talosctl(...args);
      return { code, said: stdout + stderr };
    }

    /** What Talos would do. */
    async function effectOf(address: string, file: string): Promise<Effect | string> {
      const modes = [dryRun(address, file, 'auto'), dryRun(address, file, 'no-reboot')] as const;
      const [auto, live] = await Promise.all(modes);
      if (auto.code !== 0) return live.code !== 0 ? 'refused' : `refused in mode auto only: ${auto.said}`;
      if (/No changes\./.test(auto.said)) return 'nothing';
      if (/without a reboot/.test(auto.said))
        return live.code === 0 ? 'no reboot' : `refused in mode no-reboot: ${live.said}`;
      if (/reboot/.test(auto.said)) return live.code === 0 ? `a reboot in mode auto only: ${live.said}` : 'reboot';
      return auto.said;
    }

    /** What the doctor says of that. */
    async function foretold(address: string, file: string): Promise<Effect | string> {
      const args = ['--talosconfig', talosconfig, '--nodes', address, '-f', file, '--all', '-o', 'json'];
      const { code, stdout, stderr } = await lab.taintkeeper(['talos', 'doctor', ...args]);
      // A file that cannot be read.
      if (code === 2 && stdout === '') return 'refused';
      const { checks } = JSON.parse(stdout || '{"checks":[]}') as {
        checks: { name: string; state: string; evidence: string }[];
      };
      const ofFile = checks.filter(({ name }) => name.startsWith(file));
      if (code === 1 && ofFile.some(({ state }) => state === 'problem')) return 'refused';
      const said = ofFile.map(({ evidence }) => evidence).join('\n');
      if (code !== 0) return `exit code ${code}: ${stdout}${stderr}`;
      if (/nothing to apply/.test(said)) return 'nothing';
      if (/reboots for/.test(said)) return 'reboot';
      return /without a reboot/.test(said) ? 'no reboot' : said;
    }

    describe.each(MACHINES)('on a $role', ({ role, number }) => {
      const address = nodeAddress(number);

      it.each(CHANGES.filter(({ only }) => only === undefined || only === role))('$what: $effect', async (change) => {
        const file = lab.workspace.write('changed.yaml', edited(inForce[role], change));
        const [talos, doctor] = await Promise.all([effectOf(address, file), foretold(address, file)]);
        expect({ talos, doctor }).toEqual({ talos: change.effect, doctor: change.foretold ?? change.effect });
      });

      it.each([
        { mode: 'auto', reboots: true, live: true },
        { mode: 'staged', reboots: true, live: true },
        { mode: 'no-reboot', reboots: false, live: true },
        { mode: 'try', reboots: false, live: true },
        { mode: 'reboot', reboots: true, live: true },
      ])(
        'mode $mode takes a change that reboots: $reboots, and one that does not: $live',
        async ({ mode, reboots, live }) => {
          const withReboot = lab.workspace.write(
            'reboots.yaml',
            edited(inForce[role], { set: { 'machine.udev': {} } }),
          );
          const without = lab.workspace.write('live.yaml', edited(inForce[role], { set: { 'machine.time': {} } }));
          const codes = await Promise.all([withReboot, without].map((file) => dryRun(address, file, mode)));
          expect(codes.map(({ code }) => code === 0)).toEqual([reboots, live]);
        },
      );
    });
  },
);
