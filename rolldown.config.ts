import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { defineConfig, type Plugin } from 'rolldown';
import { thirdPartyNotices } from './scripts/third-party-notices.ts';
import { BUILTIN_POLICY_FILES } from './src/files/builtin-policies.ts';
import { readPageFiles } from './src/page/static-files.ts';

const builtinPolicies = BUILTIN_POLICY_FILES.map((file) => ({
  name: `built-in/${file}`,
  text: readFileSync(new URL(`manifests/policies/${file}`, import.meta.url), 'utf8'),
}));

/** V8 keeps a text with a single character beyond Latin-1 in two bytes for each. */
const latin1: Plugin = {
  name: 'latin1',
  generateBundle(_options, files) {
    for (const file of Object.values(files)) {
      if (file.type !== 'chunk') continue;
      // With a backslash before it, in a regular expression or a template, the escape would mean something else.
      if (/\\[^\0-\xff]/.test(file.code))
        this.error(`${file.fileName} has a character beyond Latin-1 after a backslash`);
      file.code = file.code.replace(/[^\0-\xff]/g, escapeUnit);
    }
  },
};

const notices: Plugin = {
  name: 'notices',
  generateBundle() {
    this.emitFile({ type: 'asset', fileName: 'THIRD-PARTY-NOTICES.txt', source: thirdPartyNotices() });
  },
};

function escapeUnit(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/** What packages would load at every start, or carry along, for what we never ask of them: a quarter of the bundle. */
const LEFT_OUT = [
  // Fastify: schemas of routes, versions that plugins want, requests without a connection.
  '@fastify/ajv-compiler',
  '@fastify/fast-json-stringify-compiler',
  'semver',
  'light-my-request',
  // Prometheus' client: exemplars, and what pushes metrics or joins those of several processes.
  '@opentelemetry/api',
  './lib/pushgateway',
  './lib/cluster',
  './lib/worker',
  // pino: threads of its own.
  'thread-stream',
];
const LEFT_OUT_FILE = fileURLToPath(new URL('scripts/left-out.cjs', import.meta.url));

// Older syntax than the program needs: a Node.js that is too old has to get as far as saying so.
const target = 'node20';
const output = {
  dir: 'dist',
  // An ES module that imports node:http makes Node.js load all that it can export, undici among it: 40 ms.
  format: 'cjs',
  // As the sources are, which are ES modules.
  strict: true,
  entryFileNames: '[name].cjs',
  chunkFileNames: '[name].cjs',
  // Names stay: they stand in the stack of an error that is to be reported.
  minify: { compress: true, mangle: false },
} as const;

/** The whole program in a few files, for what only some starts need: what the container runs. */
export default defineConfig([
  {
    input: { main: 'src/cli/main.ts' },
    platform: 'node',
    transform: {
      target,
      define: {
        BUILTIN_POLICIES: JSON.stringify(builtinPolicies),
        PAGE_FILES: JSON.stringify(await readPageFiles()),
      },
    },
    resolve: {
      alias: {
        // Only for requests of the official client's own, of which we make none.
        undici: fileURLToPath(new URL('src/cluster/client/no-undici.ts', import.meta.url)),
        ...Object.fromEntries(LEFT_OUT.map((name) => [name, LEFT_OUT_FILE])),
      },
    },
    // Of the generated part, KubeConfig needs two classes; without this, 750 KB of models come along, and cost 12 MB at run time.
    treeshake: { moduleSideEffects: [{ test: /@kubernetes\/client-node\/dist\/gen\//, sideEffects: false }] },
    plugins: [latin1, notices],
    output: { ...output, cleanDir: true },
  },
  // By itself: in one build with the rest, it would load that first, and then look at the version of Node.js.
  {
    input: 'bin/taintkeeper.js',
    platform: 'node',
    transform: { target },
    plugins: [
      { name: 'main', resolveId: (id) => (id.endsWith('/main.ts') ? { id: './main.cjs', external: true } : null) },
    ],
    output: { ...output, dynamicImportInCjs: false },
  },
]);
