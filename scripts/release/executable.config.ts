import { defineConfig } from 'rolldown';
import bundle from '../../rolldown.config.ts';

const [program] = bundle;

/** The program in one file: a single executable can load no others. */
export default defineConfig({
  ...program,
  input: 'bin/taintkeeper.js',
  output: { ...program?.output, cleanDir: false, codeSplitting: false },
});
