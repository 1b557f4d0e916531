import { expect, it } from 'vitest';
import { askTalos } from '../../../../src/doctor/talos/ask-apid.ts';
import { type AltName, issueNamed } from '../../certs/authorities.ts';
import { clientPair, startApid, talosCa, versionOnly } from '../../talos/apid.ts';

it.each<{ why: string; altNames: AltName[]; version: object }>([
  { why: 'of its name', altNames: [{ type: 2, value: 'localhost' }], version: { ok: true, value: 'v1.13.2' } },
  {
    why: 'with its name only as the Common Name',
    altNames: [],
    version: { ok: false, message: expect.stringContaining('not for localhost, but for no name at all') },
  },
])('a node with a certificate $why is called as talosctl calls it', async ({ altNames, version }) => {
  const ca = await talosCa();
  const identity = await clientPair(ca);
  const port = Number(
    (await startApid(await issueNamed('localhost', altNames, { ca }), ca, versionOnly())).split(':')[1],
  );
  const node = { name: 'cp-1', otherwise: [], isForwarded: false, mayBeInMaintenance: false };
  const answers = await askTalos([{ ...node, at: { host: 'localhost', port } }], [], {
    ca: ca.cert,
    identity,
    timeoutMs: 5_000,
    readsConfiguration: false,
  });
  expect(answers.nodes[0]?.version).toMatchObject(version);
});
