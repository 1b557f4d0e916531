import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'rolldown';
import { BUILTIN_POLICY_FILES } from './src/builtin-policies.ts';
import { readPageFiles } from './src/page/static-files.ts';

const builtinPolicies = BUILTIN_POLICY_FILES.map((file) => ({
  name: `built-in/${file}`,
  text: readFileSync(new URL(`manifests/policies/${file}`, import.meta.url), 'utf8'),
}));

/** The whole program in one file: what the container runs. */
export default defineConfig({
  input: 'bin/taintkeeper.js',
  platform: 'node',
  // Older syntax than the program needs: a Node.js that is too old has to get as far as saying so.
  transform: {
    target: 'node20',
    define: {
      BUILTIN_POLICIES: JSON.stringify(builtinPolicies),
      PAGE_FILES: JSON.stringify(await readPageFiles()),
    },
  },
  // Only for requests of the official client's own, of which we make none.
  resolve: { alias: { undici: fileURLToPath(new URL('src/cluster/client/no-undici.ts', import.meta.url)) } },
  // Of the generated part, KubeConfig needs two classes; without this, 750 KB of models come along, and cost 12 MB at run time.
  treeshake: { moduleSideEffects: [{ test: /@kubernetes\/client-node\/dist\/gen\//, sideEffects: false }] },
  output: {
    file: 'dist/taintkeeper.js',
    format: 'esm',
    codeSplitting: false,
    minify: { compress: false, mangle: false },
    sourcemap: false,
  },
});
