import { createReadStream, existsSync, readFileSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';

/*
 * node registry.ts FOLDER ADDRESS PORT: a registry over HTTP, to read only. FOLDER has a folder in OCI's layout for each image. The last
 * part of an image's name chooses it, whatever its tag: all registries and versions have the same image.
 */
const [folder = '', address = '', port = ''] = process.argv.slice(2);

interface Descriptor {
  readonly mediaType: string;
  readonly digest: string;
}

createServer((request, response) => {
  const { pathname } = new URL(request.url ?? '', 'http://registry');
  if (pathname === '/v2/') {
    response.end('{}');
    return;
  }
  const [, image = '', kind = '', reference = ''] =
    /^\/v2\/(?:.*\/)?([^/]+)\/(manifests|blobs)\/([^/]+)$/.exec(pathname) ?? [];
  const layout = join(folder, image);
  if (kind === '' || !existsSync(layout)) {
    response.writeHead(404).end();
    return;
  }
  const { manifests } = JSON.parse(readFileSync(join(layout, 'index.json'), 'utf8')) as { manifests: Descriptor[] };
  const [manifest] = manifests;
  const digest = reference.startsWith('sha256:') ? reference : (manifest?.digest ?? '');
  const blob = join(layout, 'blobs', digest.replace(':', '/'));
  if (!existsSync(blob)) {
    response.writeHead(404).end();
    return;
  }
  const type = kind === 'manifests' ? manifest?.mediaType : 'application/octet-stream';
  response.writeHead(200, {
    'Content-Type': type ?? '',
    'Content-Length': statSync(blob).size,
    'Docker-Content-Digest': digest,
  });
  if (request.method === 'HEAD') response.end();
  else createReadStream(blob).pipe(response);
}).listen(Number(port), address, () => process.stdout.write('listening\n'));
