import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openCertificates } from '../../src/certs/certificate-directory.ts';
import { launchServe } from '../control-plane/serve-process.ts';
import { createWorkspace } from '../control-plane/workspace.ts';
import { skipFor } from '../skip-for.ts';

const DAY_MS = 86_400_000;
const START_TIMEOUT_MS = 30_000;
const canMount = process.getuid?.() === 0 && spawnSync('unshare', ['-m', 'true']).status === 0;

describe(
  'certs/ on a disk that is full (a tmpfs of 64 KiB)',
  skipFor(canMount ? undefined : 'to mount a small disk takes root'),
  () => {
    let directory: string;
    beforeEach(() => {
      directory = mkdtempSync(join(tmpdir(), 'taintkeeper-full-'));
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', directory]);
    });
    afterEach(() => {
      execFileSync('umount', ['-l', directory]);
      rmSync(directory, { recursive: true });
    });

    /** Until not one byte more has room. */
    function fill(): void {
      for (const size of [65_536, 4_096]) {
        for (let i = 0; ; i++) {
          try {
            writeFileSync(join(directory, `filler-${size}-${i}`), Buffer.alloc(size));
          } catch {
            break;
          }
        }
      }
    }

    const serve = () =>
      launchServe('full', ['--port', '0', '--admin-port', '0', '--cert-dir', directory], {
        workspace: createWorkspace('full'),
      });

    it('with nothing there, it does not start, and says why', async () => {
      fill();
      await using taintkeeper = await serve();
      await expect(taintkeeper.listening(START_TIMEOUT_MS)).rejects.toThrow(
        /cannot write .*ca\.crt: no space left on device/,
      );
      expect(taintkeeper.exit?.code).toBe(2);
    });

    it('with a certificate that is valid and due, it serves that and says so, and leaves the files as they are', async () => {
      await openCertificates(directory, [], new Date(Date.now() - 80 * DAY_MS));
      const files = () =>
        ['ca.crt', 'ca.key', 'tls.crt', 'tls.key'].map((name) => readFileSync(join(directory, name), 'utf8'));
      const before = files();
      fill();
      await using taintkeeper = await serve();
      const { adminUrl } = await taintkeeper.listening(START_TIMEOUT_MS);
      const readiness = await fetch(`${adminUrl}/readyz?verbose`);
      expect(readiness.status).toBe(200);
      expect(await readiness.text()).toContain('no space left on device');
      expect(files()).toEqual(before);
      expect(readdirSync(directory).filter((name) => name.endsWith('.tmp'))).toEqual([]);
    });
  },
);
