import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { guideCommands } from './guide-commands.ts';
import { type Installation, install, registerControlPlaneNode, waitUntilProtected } from './installation.ts';

const STATUS_TIMEOUT_MS = 20_000;

/** Ages differ, and with them the widths of nothing else: AGE is the last column. */
const withoutAges = (text: string) => text.replaceAll(/ \S+s$/gm, ' AGE').trim();

describeWithControlPlane("the install guide's verification of a fresh installation", {}, (cp) => {
  let installation: Installation;

  beforeAll(async () => {
    installation = await install(cp());
    await installation.start(['a', 'b']);
    await registerControlPlaneNode(cp(), 'cp-1');
    await waitUntilProtected(cp(), 'cp-1');
  });
  afterAll(() => installation.stop());

  it.each(guideCommands('install.md', 'Verify the installation'))('$command', async ({ command, output }) => {
    const look = async () => {
      const { stdout, stderr } = await cp().kubectl(command.split(' ').slice(1));
      return withoutAges(stdout + stderr);
    };
    await expect.poll(look, { timeout: STATUS_TIMEOUT_MS, interval: 500 }).toBe(withoutAges(output));
  });
});
